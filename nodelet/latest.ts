import type { CacheView } from '../controllers/runtime/cache.ts';
import { type KubeObject, objectKey } from '../resources/meta/object.ts';

/**
 * A cache seen together with what this process wrote since: a reconcile that follows its own write would else decide on the object from before it, and be
 * refused. What was written is forgotten as soon as the cache shows it, or shows the object gone.
 */
export class Latest<T extends KubeObject> {
  readonly #cache: CacheView<T>;
  readonly #written = new Map<string, T>();

  constructor(cache: CacheView<T>) {
    this.#cache = cache;
    cache.subscribe(({ key, after }) => {
      const written = this.#written.get(key);
      if (written !== undefined && (after === undefined || !isNewer(written, after))) this.#written.delete(key);
    });
  }

  get(key: string): T | undefined {
    return this.#written.get(key) ?? this.#cache.get(key);
  }

  /** What the server answered to a write. */
  wrote(object: T): void {
    const key = objectKey(object.metadata);
    const held = this.#cache.get(key);
    // An object the cache no longer shows may be gone, and nothing would ever tell us to forget it.
    if (held !== undefined && isNewer(object, held)) this.#written.set(key, object);
  }
}

/** Versions of one server are decimal and grow. */
function isNewer(a: KubeObject, b: KubeObject): boolean {
  return a.metadata.uid === b.metadata.uid && BigInt(a.metadata.resourceVersion) > BigInt(b.metadata.resourceVersion);
}
