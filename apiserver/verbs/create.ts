import { DEFINITIONS } from '../../resources/guards/refs.ts';
import { ApiError, alreadyExists, forbidden, notFound } from '../../resources/meta/api-error.ts';
import { storedIn } from '../../resources/meta/define-kind.ts';
import type { JsonObject } from '../../resources/meta/object.ts';
import type { Managers } from '../apply/managed-fields.ts';
import { mergeTypeOf } from '../apply/merge-type.ts';
import { checkRecordSize } from '../apply/record-size.ts';
import { authorizeObject } from '../auth/authorize.ts';
import { askerOf } from '../auth/identity.ts';
import { storeKey } from '../cache/keys.ts';
import { type Created, createOnce, type Remember } from '../idempotency/create-once.ts';
import { keyOfRequest } from '../idempotency/kept-answer.ts';
import { commit, currentOf, type WritePlan } from '../registry/commit.ts';
import { warningHeaders } from '../requests/respond.ts';
import type { ServerResponse } from '../requests/server-request.ts';
import { withBody } from '../requests/with-body.ts';
import { type WriteOptions, writeOptions } from '../requests/write-options.ts';
import { MAX_BODY_BYTES, readObject } from './body.ts';
import { checkNamespace, frameOf, knownFields, newObject, type WriteFrame } from './next-object.ts';
import { refuseDisabled } from './refuse-disabled.ts';
import { oneObject } from './represent.ts';
import type { VerbContext } from './verb-context.ts';

const NAMESPACES = { group: '', plural: 'namespaces' };
/** A generated name is the base, cut so that this many random characters fit a label (k8s.io/apiserver/pkg/storage/names). */
const SUFFIX_LENGTH = 5;
const MAX_GENERATED_BASE = 63 - SUFFIX_LENGTH;
const NAME_TRIES = 8;

/** POST to a collection. One with an Idempotency-Key makes its object once; a dry run makes none and is not kept. */
export async function create(context: VerbContext): Promise<ServerResponse> {
  const { request } = context;
  const options = writeOptions(request.query, 'CreateOptions');
  const key = keyOfRequest(request.headers);
  if (key === undefined || options.dryRun) return answer(context, await make(context, options));
  const body = await request.body(MAX_BODY_BYTES);
  const again = { ...context, request: withBody(request, body) };
  const created = await createOnce(again, key, body, (remember) => make(again, options, remember));
  return answer(context, created, created.replayed ? { 'idempotency-replayed': 'true' } : {});
}

function answer(
  { parts, request, served, representation }: VerbContext,
  { object, bytes, warnings }: Created,
  headers: Readonly<Record<string, string>> = {},
): ServerResponse {
  return oneObject(201, served.kind, object, {
    representation,
    query: request.query,
    nowMs: parts.clock.now(),
    bytes,
    headers: { ...warningHeaders(warnings), ...headers },
  });
}

async function make(
  context: VerbContext,
  { dryRun, manager, directive }: WriteOptions,
  remember?: Remember,
): Promise<Created> {
  const { parts, request, served, target } = context;
  const frame = frameOf(context, manager);
  const sent = await readObject(request, served.kind);
  const { object, warnings } = knownFields(served.kind, sent.object, sent.duplicates, directive);
  checkNamespace(object.metadata, target.namespace);
  checkRecordSize(object, mergeTypeOf(served.kind));
  if (object.metadata.resourceVersion !== undefined && object.metadata.resourceVersion !== '') {
    throw new ApiError('BadRequest', 'resourceVersion should not be set on objects to be created');
  }
  const plan = (): WritePlan => {
    const record = remember?.(warnings);
    return { ...planCreate(context, frame, object), ...(record === undefined ? {} : { record }) };
  };
  const created = await commit(parts, plan, { dryRun, caller: request, asker: askerOf(context.identity) });
  if (created === undefined) throw new Error('a create ended in a removal');
  const { object: made, bytes } = created;
  return { object: made, warnings, ...(bytes === undefined ? {} : { bytes }) };
}

/** The plan of making an object in a namespace that lives. `managers` own it when it comes of an apply. */
export function planCreate(
  context: VerbContext,
  frame: WriteFrame,
  sent: JsonObject & { metadata: JsonObject },
  managers?: Managers,
): WritePlan {
  const { parts, target, served, identity } = context;
  const { kind } = served;
  const name = newName(context, sent.metadata);
  refuseDisabled(context, name);
  const relies = [...(kind.namespaced ? [livingNamespace(context, name)] : []), ...livingDefinition(context)];
  const object = newObject(frame, sent, name, target.namespace, managers);
  authorizeObject(identity, kind, object);
  const there = currentOf(parts.cache, storedIn(kind), target.namespace, name);
  if (there !== undefined) {
    throw alreadyExists(
      kind,
      name,
      there.object.metadata.deletionTimestamp === undefined ? '' : 'object is being deleted: ',
    );
  }
  return { kind, namespace: target.namespace, name, before: undefined, after: object, relies };
}

/** The name sent, or one made from `generateName` that is free. */
function newName({ parts, served, target }: VerbContext, metadata: JsonObject): string {
  if (typeof metadata.name === 'string' && metadata.name !== '') return metadata.name;
  const base = metadata.generateName;
  // The missing name is told with all else that is wrong with the object.
  if (typeof base !== 'string' || base === '') return '';
  let name = '';
  for (let tries = 0; tries < NAME_TRIES; tries++) {
    name = base.slice(0, MAX_GENERATED_BASE) + parts.ids.suffix(SUFFIX_LENGTH);
    if (currentOf(parts.cache, storedIn(served.kind), target.namespace, name) === undefined) return name;
  }
  const { message, details } = alreadyExists(served.kind, name);
  throw new ApiError('AlreadyExists', `${message}, the server was not able to generate a unique name for the object`, {
    details: { ...details, retryAfterSeconds: 1 },
  });
}

/** A user's kind must be defined and stay so: nothing is made that the deletion of its definition would not find. */
function livingDefinition({ parts, served }: VerbContext): readonly { key: string; revision: number }[] {
  const { kind } = served;
  if (kind.origin !== 'user') return [];
  const name = `${kind.plural}.${kind.group}`;
  const there = currentOf(parts.cache, DEFINITIONS, undefined, name);
  if (there === undefined) {
    if (!served.ending.aborted) return [];
    throw new ApiError('NotFound', 'the server could not find the requested resource');
  }
  if (there.object.metadata.deletionTimestamp !== undefined) {
    throw new ApiError('MethodNotAllowed', `create not allowed: the CustomResourceDefinition ${name} is being deleted`);
  }
  return [{ key: storeKey(DEFINITIONS, undefined, name), revision: there.revision }];
}

/** The namespace must be there and stay; the write relies on its revision. */
function livingNamespace({ parts, served, target }: VerbContext, name: string): { key: string; revision: number } {
  const namespace = target.namespace ?? '';
  const there = currentOf(parts.cache, NAMESPACES, undefined, namespace);
  if (there === undefined) throw notFound(NAMESPACES, namespace);
  if (there.object.metadata.deletionTimestamp !== undefined) {
    const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
    throw forbidden(served.kind, name, why, {
      reason: 'NamespaceTerminating',
      message: `namespace ${namespace} is being terminated`,
      field: 'metadata.namespace',
    });
  }
  return { key: storeKey(NAMESPACES, undefined, namespace), revision: there.revision };
}
