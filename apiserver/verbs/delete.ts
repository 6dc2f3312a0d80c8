import { rfc3339 } from '../../resources/ambient/clock.ts';
import { conflict, type Status } from '../../resources/meta/api-error.ts';
import { jsonEqual, type KubeObject } from '../../resources/meta/object.ts';
import { askerOf } from '../auth/identity.ts';
import { commit } from '../registry/commit.ts';
import { json, warningHeaders } from '../requests/respond.ts';
import type { ServerResponse } from '../requests/server-request.ts';
import { type DeleteWish, type Propagation, readWish } from './delete-options.ts';
import { oneObject } from './represent.ts';
import { isHeld, planOver, standing } from './update.ts';
import type { VerbContext } from './verb-context.ts';

const ORPHAN = 'orphan';
const FOREGROUND = 'foregroundDeletion';

/** DELETE of one object. Answers a Status when it is gone, the object while finalizers hold it. */
export async function deleteOne(context: VerbContext): Promise<ServerResponse> {
  const { request, served, parts } = context;
  const wish = await readWish(request);
  const { object, removed } = await remove(context, wish);
  if (!removed) {
    return oneObject(200, served.kind, object, {
      representation: context.representation,
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
  const stays = served.kind.rules.stays?.(object, { world: parts.cache.world, nowMs: parts.clock.now() }) ?? [];
  return json(200, status, warningHeaders(stays));
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
  const left = await commit(parts, plan, { dryRun: wish.dryRun, caller: request, asker: askerOf(context.identity) });
  const object = left?.object ?? last;
  if (object === undefined) throw new Error('a delete ended without an object');
  return { object, removed: left === undefined };
}

/** The object with its deletionTimestamp and the finalizer its propagation asks for; itself when it has them already. */
function mark({ parts, served, identity }: VerbContext, before: KubeObject, wish: DeleteWish): KubeObject {
  const finalizers = heldBy(before.metadata.finalizers ?? [], wish.propagation);
  const begun = before.metadata.deletionTimestamp !== undefined;
  if (begun && jsonEqual(finalizers, before.metadata.finalizers ?? [])) return before;
  const { finalizers: _, ...metadata } = before.metadata;
  const held = { ...metadata, ...(finalizers.length === 0 ? {} : { finalizers }) };
  if (begun) return { ...before, metadata: held };
  const generation = (before.metadata.generation ?? 0) + 1;
  const marked = {
    ...before,
    metadata: {
      ...held,
      deletionTimestamp: rfc3339(parts.clock.now()),
      // What ends in its own way, such as a Namespace, has no grace to tell of.
      ...(served.kind.rules.holdsDeletion === undefined ? { deletionGracePeriodSeconds: 0 } : {}),
      ...(served.kind.generations ? { generation } : {}),
    },
  };
  const context = { world: parts.cache.world, nowMs: parts.clock.now(), asker: askerOf(identity) };
  return served.kind.rules.admit?.(marked, before, context) ?? marked;
}

/** The finalizers of an object being deleted: one of the two that await the garbage duty, as asked last, or as the object says itself. */
function heldBy(finalizers: string[], propagation: Propagation | undefined): string[] {
  if (propagation === undefined) return finalizers;
  const wanted = { Background: undefined, Foreground: FOREGROUND, Orphan: ORPHAN }[propagation];
  const others = finalizers.filter((one) => one === wanted || (one !== ORPHAN && one !== FOREGROUND));
  return wanted === undefined || others.includes(wanted) ? others : [...others, wanted];
}

/** As on a real server, the refusal is about the Kind, not the resource. */
function checkPreconditions({ served }: VerbContext, { metadata }: KubeObject, { uid, resourceVersion }: DeleteWish) {
  const kind = { group: served.kind.group, plural: served.kind.kind };
  if (uid !== undefined && uid !== metadata.uid) {
    const why = `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid})`;
    throw conflict(kind, metadata.name, `${why}. The object might have been deleted and then recreated`);
  }
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    const versions = `(${resourceVersion}) does not match the ResourceVersion in record (${metadata.resourceVersion})`;
    const why = `the ResourceVersion in the precondition ${versions}. The object might have been modified`;
    throw conflict(kind, metadata.name, why);
  }
}
