import type { ResourceClient } from '../../apiserver/client/client.ts';
import { ApiError, type Reason } from '../../resources/meta/api-error.ts';
import { isObject, type JsonObject, jsonEqual, type KubeObject } from '../../resources/meta/object.ts';

/** Whether the server answered with this reason. */
export function hasReason(error: unknown, ...reasons: readonly Reason[]): error is ApiError {
  return error instanceof ApiError && reasons.includes(error.reason);
}

type StatusOf<T> = T extends { status?: infer S } ? NonNullable<S> : never;
/** Fields of a status to set; one that is `undefined` is removed, one that is not named is left alone. */
export type StatusFields<T> = { readonly [K in keyof StatusOf<T>]?: StatusOf<T>[K] | undefined };

/**
 * Sets fields of an object's status by merge patch, under the version the decision was made on. Answers the object as it then is; the same
 * value when there was nothing to change (nothing is sent), `undefined` when the object is gone. Somebody else's write since is a `Conflict`.
 */
export async function writeStatus<T extends KubeObject & { status?: object }>(
  resource: ResourceClient<T>,
  object: T,
  fields: StatusFields<T>,
  signal: AbortSignal,
): Promise<T | undefined> {
  const status = mergePatchOf(object.status ?? {}, fields, 'named');
  if (status === undefined) return object;
  const { name, resourceVersion } = object.metadata;
  return orGone(resource.patch(name, { metadata: { resourceVersion }, status }, { subresource: 'status' }, signal));
}

/** What the promise answers, or `undefined` when the object it is about is not there. */
export async function orGone<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (hasReason(error, 'NotFound')) return undefined;
    throw error;
  }
}

/**
 * Deletes this very object, not one of the same name made since (that is a `Conflict`). Already gone is success. Without `propagationPolicy` its
 * dependents fare as its own finalizers say, else they go after it.
 */
export async function deleteThis<T extends KubeObject>(
  resource: ResourceClient<T>,
  object: T,
  signal: AbortSignal,
  propagationPolicy?: 'Foreground',
): Promise<void> {
  const { name, uid } = object.metadata;
  const policy = propagationPolicy === undefined ? {} : { propagationPolicy };
  await orGone(resource.delete(name, { preconditions: { uid }, ...policy }, signal));
}

/**
 * The merge patch (RFC 7386) that leads from one object to another; `undefined` when they are equal. `named`: fields that `to` does not
 * mention stay; `whole`: they go.
 */
export function mergePatchOf(from: object, to: object, extent: 'named' | 'whole'): JsonObject | undefined {
  const before: JsonObject = { ...from };
  const after: JsonObject = { ...to };
  const patch: JsonObject = {};
  const names = extent === 'named' ? Object.keys(after) : [...Object.keys(before), ...Object.keys(after)];
  for (const name of new Set(names)) {
    const [was, is] = [before[name], after[name]];
    if (jsonEqual(was, is)) continue;
    if (is === undefined) patch[name] = null;
    else patch[name] = isObject(was) && isObject(is) ? mergePatchOf(was, is, 'whole') : is;
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}
