import { ApiError, type Cause } from '../../resources/meta/api-error.ts';
import { isObject, type JsonObject } from '../../resources/meta/object.ts';
import { goQuote } from '../admission/go-format.ts';
import { deleteOptionsReader } from '../protobuf/read-envelope.ts';
import { booleanOption, integerOption, refusedOptions } from '../requests/options.ts';
import type { ServerRequest } from '../requests/server-request.ts';
import { withBody } from '../requests/with-body.ts';
import { dryRunCauses } from '../requests/write-options.ts';
import { MAX_BODY_BYTES, readAnyBody } from './body.ts';

const KIND = 'DeleteOptions';
const POLICIES = ['Foreground', 'Background', 'Orphan'] as const;
export type Propagation = (typeof POLICIES)[number];

/** How to delete. */
export interface DeleteWish {
  readonly dryRun: boolean;
  /** What is to become of dependents; undefined: what the object itself says, else they go after it. */
  readonly propagation: Propagation | undefined;
  readonly uid?: string;
  readonly resourceVersion?: string;
}

/** What a client may say of a deletion. Grace periods are read and hold nothing: nothing here ends gracefully of itself. */
interface Sent {
  readonly dryRun: readonly string[];
  readonly policy: string | undefined;
  readonly orphan: boolean | undefined;
  readonly uid: string | undefined;
  readonly resourceVersion: string | undefined;
}

/** DeleteOptions from the body where there is one, else from the query: the two are never mixed. Throws one `Invalid` with all that is wrong. */
export async function readWish(request: ServerRequest): Promise<DeleteWish> {
  const bytes = await request.body(MAX_BODY_BYTES);
  const sent = bytes.length === 0 ? fromQuery(request.query) : await fromBody(request, bytes);
  const { dryRun, orphan, policy, uid, resourceVersion } = sent;
  const causes = [...policyCauses(sent), ...dryRunCauses(dryRun)];
  if (causes.length > 0) throw refusedOptions(KIND, causes);
  const legacy = orphan === undefined ? undefined : orphan ? 'Orphan' : 'Background';
  return {
    dryRun: dryRun.length > 0,
    propagation: POLICIES.find((known) => known === policy) ?? legacy,
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
}

function policyCauses({ policy, orphan }: Sent): Cause[] {
  const field = 'propagationPolicy';
  if (policy === undefined) return [];
  const causes: Cause[] = [];
  if (orphan !== undefined) {
    const why = 'orphanDependents and deletionPropagation cannot be both set';
    causes.push({ reason: 'FieldValueInvalid', field, message: `Invalid value: ${goQuote(policy)}: ${why}` });
  }
  if (!POLICIES.some((known) => known === policy)) {
    const supported = [...POLICIES, 'nil'].map(goQuote).join(', ');
    const message = `Unsupported value: ${goQuote(policy)}: supported values: ${supported}`;
    causes.push({ reason: 'FieldValueNotSupported', field, message });
  }
  return causes;
}

/** An empty precondition in the query asks nothing. */
function fromQuery(query: URLSearchParams): Sent {
  integerOption(query, 'gracePeriodSeconds');
  return {
    dryRun: query.getAll('dryRun'),
    policy: query.get('propagationPolicy') ?? undefined,
    orphan: query.has('orphanDependents') ? booleanOption(query, 'orphanDependents') : undefined,
    uid: query.get('uid') || undefined,
    resourceVersion: query.get('resourceVersion') || undefined,
  };
}

async function fromBody(request: ServerRequest, bytes: Uint8Array): Promise<Sent> {
  const again = withBody(request, bytes);
  const { value } = await readAnyBody(again, 'error decoding DeleteOptions', deleteOptionsReader);
  const options = value ?? {};
  if (!isObject(options)) throw undecodable('', 'an object');
  // Any version will do: clients send that of the group they delete in.
  if (options.kind !== undefined && options.kind !== '' && options.kind !== KIND)
    throw new ApiError('BadRequest', `the body of a delete must be DeleteOptions, not ${String(options.kind)}`);
  const { preconditions, gracePeriodSeconds } = options;
  if (preconditions !== undefined && preconditions !== null && !isObject(preconditions))
    throw undecodable('preconditions', 'an object');
  if (!isWhole(gracePeriodSeconds ?? 0)) throw undecodable('gracePeriodSeconds', 'a whole number');
  const asked = isObject(preconditions) ? preconditions : {};
  return {
    dryRun: strings(options.dryRun),
    policy: text(options, 'propagationPolicy'),
    orphan: flag(options.orphanDependents),
    uid: text(asked, 'uid'),
    resourceVersion: text(asked, 'resourceVersion'),
  };
}

const isWhole = (value: unknown) => typeof value === 'bigint' || (typeof value === 'number' && Number.isInteger(value));

function text(object: JsonObject, field: string): string | undefined {
  const value = object[field] ?? undefined;
  if (value === undefined || typeof value === 'string') return value;
  throw undecodable(field, 'a string');
}

function flag(value: unknown): boolean | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'boolean') return value;
  throw undecodable('orphanDependents', 'true or false');
}

function strings(value: unknown): readonly string[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value;
  throw undecodable('dryRun', 'a list of strings');
}

function undecodable(field: string, wanted: string): ApiError {
  const what = field === '' ? KIND : `${KIND}.${field}`;
  return new ApiError('BadRequest', `error decoding DeleteOptions: ${what} must be ${wanted}`);
}
