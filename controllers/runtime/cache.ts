import { entry } from '../../resources/meta/map-entry.ts';
import { type KubeObject, objectKey } from '../../resources/meta/object.ts';

/** One object, before and after. Over a relist both may be set with different uids: deleted and made again while nobody looked. */
export interface Change<T extends KubeObject> {
  readonly key: string;
  readonly before: T | undefined;
  readonly after: T | undefined;
}

/** Objects by a derived value, kept up with the cache until it is disposed of. */
export interface IndexView<T extends KubeObject> extends Disposable {
  get(value: string): readonly T[];
  count(value: string): number;
}

/**
 * What readers see of one resource. Guarantees: a list is shown whole or not at all; a change is told after every reader can see it; objects
 * are shared and must not be changed. A removal may be missed by whoever was not subscribed, so nothing may rest on having heard of it.
 */
export interface CacheView<T extends KubeObject> {
  /** Whether a whole list has been seen. Until then the cache is empty. */
  readonly synced: boolean;
  readonly size: number;
  get(key: string): T | undefined;
  list(): Iterable<T>;
  /** Objects by what `valuesOf` says of them. */
  index(valuesOf: (object: T) => readonly string[]): IndexView<T>;
  /** Calls `listener` for each change from now on, until the returned function is called. It must not throw. */
  subscribe(listener: (change: Change<T>) => void): () => void;
  /** Resolves when `synced`; rejects with the signal's reason. */
  whenSynced(signal: AbortSignal): Promise<void>;
}

/** The writing side; a reflector holds it, and nobody else. */
export class Cache<T extends KubeObject> implements CacheView<T> {
  #objects = new Map<string, T>();
  readonly #indexes = new Set<Index<T>>();
  readonly #listeners = new Set<(change: Change<T>) => void>();
  readonly #firstList = Promise.withResolvers<void>();
  #synced = false;

  get synced(): boolean {
    return this.#synced;
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  list(): Iterable<T> {
    return this.#objects.values();
  }

  index(valuesOf: (object: T) => readonly string[]): IndexView<T> {
    const index: Index<T> = new Index<T>(valuesOf, () => this.#indexes.delete(index));
    for (const [key, after] of this.#objects) index.move({ key, before: undefined, after });
    this.#indexes.add(index);
    return index;
  }

  subscribe(listener: (change: Change<T>) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async whenSynced(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const aborted = Promise.withResolvers<never>();
    const onAbort = () => aborted.reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      await Promise.race([this.#firstList.promise, aborted.promise]);
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** Puts a whole list in the place of what was there. An object at the version already held stays the same value and is no change. */
  replace(objects: Iterable<T>): void {
    const before = this.#objects;
    const after = new Map<string, T>();
    const changes: Change<T>[] = [];
    for (const object of objects) {
      const key = objectKey(object.metadata);
      const held = before.get(key);
      const same =
        held?.metadata.uid === object.metadata.uid && held.metadata.resourceVersion === object.metadata.resourceVersion;
      after.set(key, held !== undefined && same ? held : object);
      if (!same) changes.push({ key, before: held, after: object });
    }
    for (const [key, held] of before) if (!after.has(key)) changes.push({ key, before: held, after: undefined });
    this.#objects = after;
    this.#synced = true;
    this.#publish(changes);
    this.#firstList.resolve();
  }

  /** An object as it is now. */
  put(object: T): void {
    const key = objectKey(object.metadata);
    const before = this.#objects.get(key);
    this.#objects.set(key, object);
    this.#publish([{ key, before, after: object }]);
  }

  /** An object that is gone. */
  remove(key: string): void {
    const before = this.#objects.get(key);
    if (before === undefined) return;
    this.#objects.delete(key);
    this.#publish([{ key, before, after: undefined }]);
  }

  /** Indexes move for all changes before anybody is told of the first. */
  #publish(changes: readonly Change<T>[]): void {
    for (const index of this.#indexes) for (const change of changes) index.move(change);
    for (const change of changes) for (const listener of this.#listeners) listener(change);
  }
}

class Index<T extends KubeObject> implements IndexView<T> {
  readonly #valuesOf: (object: T) => readonly string[];
  readonly #leave: () => void;
  readonly #rows = new Map<string, Map<string, T>>();

  constructor(valuesOf: (object: T) => readonly string[], leave: () => void) {
    this.#valuesOf = valuesOf;
    this.#leave = leave;
  }

  [Symbol.dispose](): void {
    this.#leave();
    this.#rows.clear();
  }

  get(value: string): readonly T[] {
    return [...(this.#rows.get(value)?.values() ?? [])];
  }

  count(value: string): number {
    return this.#rows.get(value)?.size ?? 0;
  }

  move({ key, before, after }: Change<T>): void {
    for (const value of before === undefined ? [] : this.#valuesOf(before)) {
      const row = this.#rows.get(value);
      row?.delete(key);
      if (row?.size === 0) this.#rows.delete(value);
    }
    if (after === undefined) return;
    for (const value of this.#valuesOf(after)) entry(this.#rows, value, () => new Map<string, T>()).set(key, after);
  }
}
