import type { Kind, ResourceRef } from '../../resources/meta/define-kind.ts';
import type { KubeObject } from '../../resources/meta/object.ts';
import type { CacheView, Change, IndexView } from './cache.ts';
import type { Caches } from './informers.ts';

/** Caches that outlive who reads them: disposing of this ends all subscriptions and indexes that were made through it, and keeps the caches warm. */
export class BorrowedCaches implements Caches, Disposable {
  readonly #caches: Caches;
  readonly #endings = new Set<() => void>();

  constructor(caches: Caches) {
    this.#caches = caches;
  }

  of<T extends KubeObject>(kind: Kind<T>): CacheView<T> {
    return new BorrowedView(this.#caches.of(kind), this.#endings);
  }

  trimmed(ref: ResourceRef, keep: (object: KubeObject) => KubeObject): CacheView<KubeObject> {
    return new BorrowedView(this.#caches.trimmed(ref, keep), this.#endings);
  }

  drop(ref: ResourceRef): Promise<void> {
    return this.#caches.drop(ref);
  }

  [Symbol.dispose](): void {
    for (const end of this.#endings) end();
    this.#endings.clear();
  }
}

class BorrowedView<T extends KubeObject> implements CacheView<T> {
  readonly #view: CacheView<T>;
  readonly #endings: Set<() => void>;

  constructor(view: CacheView<T>, endings: Set<() => void>) {
    this.#view = view;
    this.#endings = endings;
  }

  get synced(): boolean {
    return this.#view.synced;
  }

  get size(): number {
    return this.#view.size;
  }

  get(key: string): T | undefined {
    return this.#view.get(key);
  }

  list(): Iterable<T> {
    return this.#view.list();
  }

  index(valuesOf: (object: T) => readonly string[]): IndexView<T> {
    const index = this.#view.index(valuesOf);
    const end = this.#ending(() => index[Symbol.dispose]());
    return {
      get: (value) => index.get(value),
      count: (value) => index.count(value),
      [Symbol.dispose]: end,
    };
  }

  subscribe(listener: (change: Change<T>) => void): () => void {
    return this.#ending(this.#view.subscribe(listener));
  }

  whenSynced(signal: AbortSignal): Promise<void> {
    return this.#view.whenSynced(signal);
  }

  /** Remembers to do it, until it is done. */
  #ending(end: () => void): () => void {
    const once = () => {
      if (this.#endings.delete(once)) end();
    };
    this.#endings.add(once);
    return once;
  }
}
