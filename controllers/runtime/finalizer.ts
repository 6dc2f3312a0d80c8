import type { ResourceClient } from '../../apiserver/client/client.ts';
import type { KubeObject } from '../../resources/meta/object.ts';
import { orGone } from './write.ts';

/**
 * Where an object stands with a finalizer: `live` (not being deleted), `cleanup` (being deleted and held by us: clean up, then release it),
 * `released` (being deleted, but not held by us any more).
 */
export function finalizerStage(object: KubeObject, finalizer: string): 'live' | 'cleanup' | 'released' {
  if (object.metadata.deletionTimestamp === undefined) return 'live';
  return object.metadata.finalizers?.includes(finalizer) ? 'cleanup' : 'released';
}

/** Takes the finalizer off, under the version the decision was made on; the last one off removes the object. Gone already is success. */
export async function releaseFinalizer<T extends KubeObject>(
  resource: ResourceClient<T>,
  object: T,
  finalizer: string,
  signal: AbortSignal,
): Promise<void> {
  const { name, resourceVersion } = object.metadata;
  const finalizers = object.metadata.finalizers?.filter((other) => other !== finalizer) ?? [];
  // The list is replaced whole, so the version must match: another finalizer may have come or gone since.
  await orGone(resource.patch(name, { metadata: { resourceVersion, finalizers } }, {}, signal));
}
