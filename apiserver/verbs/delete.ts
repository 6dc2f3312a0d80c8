import { rfc3339 } from '../../resources/ambient/clock.ts';
import { ApiError, conflict, type Status } from '../../resources/meta/api-error.ts';
import { isObject, type JsonObject, type KubeObject } from '../../resources/meta/object.ts';
import { commit } from '../registry/commit.ts';
import { booleanOption, dryRunOption, integerOption, invalidOption } from '../requests/options.ts';
import { json } from '../requests/respond.ts';
import type { ServerRequest, ServerResponse } from '../requests/server-request.ts';
import { readAnyBody } from './body.ts';
import { oneObject } from './represent.ts';
import { isHeld, planOver, standing } from './update.ts';
import type { VerbContext } from './verb-context.ts';

const OPTIONS = 'DeleteOptions';

/** How to delete, from the body or the query. */
export interface DeleteWish {
  readonly dryRun: boolean;
  readonly propagation: 'Background' | 'Foreground' | 'Orphan';
  readonly uid?: string;
  readonly resourceVersion?: string;
}

/** DELETE of one object. Answers a Status when it is gone, the object while finalizers hold it. */
export async function deleteOne(context: VerbContext): Promise<ServerResponse> {
  const { request, served, parts } = context;
  const wish = await readWish(request);
  const { object, removed } = await remove(context, wish);
  if (!removed) {
    return oneObject(200, served.kind, object, {
      representation: 'Object',
      query: request.query,
      nowMs: parts.clock.now(),
    });
  }
  const status: Status = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: {
      name: object.metadata.name,
      ...(served.kind.group === '' ? {} : { group: served.kind.group }),
      kind: served.kind.plural,
      uid: object.metadata.uid,
    },
  };
  return json(200, status);
}

/** Removes the object in the context's URL, or marks it as being deleted when something holds it. */
export async function remove(
  context: VerbContext,
  wish: DeleteWish,
): Promise<{ object: KubeObject; removed: boolean }> {
  const { parts, request } = context;
  let last: KubeObject | undefined;
  const plan = () => {
    const before = standing(context);
    checkPreconditions(context, before.object, wish);
    const marked = mark(context, before.object, wish);
    const held = isHeld(context, marked);
    last = held ? marked : before.object;
    return planOver(context, before, held ? marked : undefined);
  };
  const left = await commit(parts, plan, { dryRun: wish.dryRun, signal: request.signal });
  const object = left ?? last;
  if (object === undefined) throw new Error('a delete ended without an object');
  return { object, removed: left === undefined };
}

/** The object with its deletionTimestamp and the finalizer its propagation asks for; itself when it has them already. */
function mark({ parts, served }: VerbContext, before: KubeObject, wish: DeleteWish): KubeObject {
  const finalizers = [...(before.metadata.finalizers ?? [])];
  const wanted = { Background: undefined, Foreground: 'foregroundDeletion', Orphan: 'orphan' }[wish.propagation];
  if (wanted !== undefined && before.metadata.deletionTimestamp === undefined && !finalizers.includes(wanted))
    finalizers.push(wanted);
  if (before.metadata.deletionTimestamp !== undefined) return before;
  const marked = {
    ...before,
    metadata: {
      ...before.metadata,
      ...(finalizers.length === 0 ? {} : { finalizers }),
      deletionTimestamp: rfc3339(parts.clock.now()),
      // What ends in its own way, such as a Namespace, has no grace to tell of.
      ...(served.kind.rules.holdsDeletion === undefined ? { deletionGracePeriodSeconds: 0 } : {}),
      ...(served.kind.generations ? { generation: (before.metadata.generation ?? 0) + 1 } : {}),
    },
  };
  const context = { world: parts.cache.world, nowMs: parts.clock.now() };
  return served.kind.rules.admit?.(marked, before, context) ?? marked;
}

function checkPreconditions({ served }: VerbContext, object: KubeObject, { uid, resourceVersion }: DeleteWish): void {
  const { metadata } = object;
  if (uid !== undefined && uid !== metadata.uid) {
    throw conflict(
      served.kind,
      metadata.name,
      `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${metadata.uid}`,
    );
  }
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    throw conflict(
      served.kind,
      metadata.name,
      `Precondition failed: ResourceVersion in precondition: ${resourceVersion}, ResourceVersion in object meta: ${metadata.resourceVersion}`,
    );
  }
}

/** DeleteOptions from the body, else from the query; the body wins. */
export async function readWish(request: ServerRequest): Promise<DeleteWish> {
  const { value } = await readOptions(request);
  const { query } = request;
  const dryRun = Array.isArray(value.dryRun) ? value.dryRun.map(String) : query.getAll('dryRun');
  const preconditions = isObject(value.preconditions) ? value.preconditions : {};
  const grace = value.gracePeriodSeconds ?? integerOption(query, 'gracePeriodSeconds');
  if (grace !== undefined && (typeof grace !== 'number' || grace < 0)) {
    throw invalidOption(
      OPTIONS,
      'gracePeriodSeconds',
      'FieldValueInvalid',
      `Invalid value: ${String(grace)}: must be greater than or equal to 0`,
    );
  }
  return {
    dryRun: dryRunOption(dryRun, OPTIONS),
    propagation: propagationOf(value, query),
    ...(typeof preconditions.uid === 'string' ? { uid: preconditions.uid } : {}),
    ...(typeof preconditions.resourceVersion === 'string' ? { resourceVersion: preconditions.resourceVersion } : {}),
  };
}

async function readOptions(request: ServerRequest): Promise<{ value: JsonObject }> {
  const bytes = await request.body(64 << 10);
  if (bytes.length === 0) return { value: {} };
  const again = { ...request, body: async () => bytes };
  const { value } = await readAnyBody(again, 'error decoding DeleteOptions');
  if (!isObject(value)) throw new ApiError('BadRequest', 'DeleteOptions must be an object');
  if (value.kind !== undefined && value.kind !== 'DeleteOptions') {
    throw new ApiError('BadRequest', `the body of a delete must be DeleteOptions, not ${String(value.kind)}`);
  }
  return { value };
}

function propagationOf(value: JsonObject, query: URLSearchParams): DeleteWish['propagation'] {
  const policy = value.propagationPolicy ?? query.get('propagationPolicy') ?? undefined;
  const orphan =
    value.orphanDependents ?? (query.has('orphanDependents') ? booleanOption(query, 'orphanDependents') : undefined);
  if (policy !== undefined && orphan !== undefined) {
    const message = 'Invalid value: orphanDependents and deletionPropagation cannot be both set';
    throw invalidOption(OPTIONS, 'propagationPolicy', 'FieldValueInvalid', message);
  }
  if (policy === undefined) return orphan === true ? 'Orphan' : 'Background';
  if (policy === 'Background' || policy === 'Foreground' || policy === 'Orphan') return policy;
  throw invalidOption(
    OPTIONS,
    'propagationPolicy',
    'FieldValueNotSupported',
    `Unsupported value: ${JSON.stringify(policy)}: supported values: "Background", "Foreground", "Orphan"`,
  );
}
