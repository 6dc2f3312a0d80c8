import { ApiError, conflict, invalid, notFound, type ResourceName } from '../../resources/meta/api-error.ts';
import { storedIn } from '../../resources/meta/define-kind.ts';
import type { JsonObject, KubeObject } from '../../resources/meta/object.ts';
import { authorizeObject } from '../auth/authorize.ts';
import { askerOf } from '../auth/identity.ts';
import { commit, currentOf, type Versioned, type WritePlan } from '../registry/commit.ts';
import { fromStorage } from '../registry/versions.ts';
import { warningHeaders } from '../requests/respond.ts';
import type { ServerResponse } from '../requests/server-request.ts';
import { writeOptions } from '../requests/write-options.ts';
import { assertReadable } from '../sealing/damage.ts';
import { readObject } from './body.ts';
import { checkNames, frameOf, knownFields, nextObject, type WriteFrame } from './next-object.ts';
import { oneObject } from './represent.ts';
import { nameOf, type VerbContext } from './verb-context.ts';

/** PUT of an object, its status, or another part of it. */
export async function update(context: VerbContext): Promise<ServerResponse> {
  const { request, served, target } = context;
  const { kind } = served;
  const { query } = request;
  const { dryRun, manager, directive } = writeOptions(query, 'UpdateOptions');
  const frame = frameOf(context, manager);
  const sent = await readObject(request, kind);
  const { object, warnings } = knownFields(kind, sent.object, sent.duplicates, directive);
  checkNames(object.metadata, nameOf(context), target.namespace);
  return writeOver(context, frame, dryRun, warnings, (before) => {
    checkUid(kind, before, object.metadata.uid);
    checkLock(context, before, object.metadata.resourceVersion);
    return object;
  });
}

/**
 * Reads what stands, lets `wish` say what it should become, and writes that; again when another write came between. An object that is being
 * deleted and is held by nothing any more is removed by the same write.
 */
export async function writeOver(
  context: VerbContext,
  frame: WriteFrame,
  dryRun: boolean,
  warnings: readonly string[],
  wish: (before: KubeObject) => JsonObject & { metadata: JsonObject },
): Promise<ServerResponse> {
  const { parts, request, served } = context;
  let last: KubeObject | undefined;
  const plan = (): WritePlan => {
    const before = standing(context);
    assertReadable(served.kind, before.object);
    const next = nextObject(frame, before.object, wish(before.object));
    last = next;
    return planOver(context, before, isHeld(context, next) ? next : undefined);
  };
  const written = await commit(parts, plan, { dryRun, caller: request, asker: askerOf(context.identity) });
  const object = written?.object ?? last;
  if (object === undefined) throw new Error('an update ended without an object');
  return oneObject(200, served.kind, object, {
    representation: context.representation,
    query: request.query,
    nowMs: parts.clock.now(),
    bytes: written?.bytes,
    headers: warningHeaders(warnings),
  });
}

/** The object in the URL as it stands. Throws `NotFound`. */
export function standing(context: VerbContext): Versioned {
  const { parts, served, target } = context;
  const there = currentOf(parts.cache, storedIn(served.kind), target.namespace, nameOf(context));
  if (there === undefined) throw notFound(served.kind, nameOf(context));
  const object = fromStorage(served.kind, there.object);
  authorizeObject(context.identity, served.kind, object);
  return { object, revision: there.revision };
}

/** The plan of a write over what stands; `after` undefined removes it. */
export function planOver(context: VerbContext, before: Versioned, after: KubeObject | undefined): WritePlan {
  const { served, target } = context;
  return {
    kind: served.kind,
    namespace: target.namespace,
    name: before.object.metadata.name,
    before,
    after,
    ...(target.subresource === undefined ? {} : { subresource: target.subresource }),
  };
}

/** Whether something keeps an object: it is not being deleted, or finalizers hold it. */
export function isHeld({ served }: VerbContext, object: KubeObject): boolean {
  if (object.metadata.deletionTimestamp === undefined) return true;
  return (object.metadata.finalizers ?? []).length > 0 || served.kind.rules.holdsDeletion?.(object) === true;
}

/** A write over an object names the version it is over: built-in kinds alone may leave that out, or say 0. */
export function checkLock(context: VerbContext, before: KubeObject, version: unknown): void {
  const { kind } = context.served;
  const named = version !== undefined && version !== '' && version !== '0';
  if (named) checkVersion(context, before, version);
  if (named || kind.origin === 'core') return;
  const message = 'Invalid value: 0x0: must be specified for an update';
  // As on a real server, the refusal is about the resource, not the Kind.
  throw invalid({ group: kind.group, kind: kind.plural }, before.metadata.name, [
    { reason: 'FieldValueInvalid', field: 'metadata.resourceVersion', message },
  ]);
}

/** A uid in the body that is another object's is 409. */
export function checkUid(resource: ResourceName, before: KubeObject, uid: unknown): void {
  if (typeof uid !== 'string' || uid === '' || uid === before.metadata.uid) return;
  const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${before.metadata.uid}`;
  throw conflict(resource, before.metadata.name, `StorageError: invalid object, Code: 4, ${why}`);
}

/** 409 unless the object stands at this resourceVersion. */
export function checkVersion({ served }: VerbContext, before: KubeObject, version: unknown): void {
  if (typeof version !== 'string' || !/^[0-9]+$/.test(version)) {
    throw new ApiError('BadRequest', `metadata.resourceVersion: ${JSON.stringify(version)} is not a resource version`);
  }
  if (version !== before.metadata.resourceVersion) throw conflict(served.kind, before.metadata.name);
}
