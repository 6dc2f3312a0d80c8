import type { Kind } from '../../resources/meta/define-kind.ts';
import { resourceId } from '../../resources/meta/resource-id.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import { sealedWith } from './sealed-with.ts';
import type { Sealer } from './sealer.ts';

/**
 * The ids of keys that objects of the store are sealed with and that are not here. A key that is asked for in history only was dropped after everything
 * was sealed anew: then nothing is told of that history.
 */
export function missingKeysOf(cache: WatchCache, sealer: Sealer, sealed: readonly Kind[]): readonly string[] {
  if (sealer.missingKeys.length === 0) return [];
  const asked = new Set(sealer.missingKeys);
  const caches = sealed.map((kind) => cache.resource(resourceId(kind)));
  const objects = caches.flatMap((each) => each.sorted());
  const missing = new Set(objects.map(({ object }) => sealedWith(object) ?? '').filter((id) => asked.has(id)));
  if (missing.size === 0) for (const each of caches) each.forget(cache.revision);
  return [...missing];
}
