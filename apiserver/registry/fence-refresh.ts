import type { WatchCache } from '../cache/watch-cache.ts';
import type { Store } from '../store/store.ts';
import { unlessAborted } from './key-queue.ts';

/**
 * Makes sure that the cache shows everything acknowledged before the call (ruling 15): bumps a fence without a condition and waits until the
 * cache has seen that. Callers of one fence share a bump that none of them began before they asked.
 */
export class FenceRefresh {
  readonly #store: Store;
  readonly #cache: WatchCache;
  readonly #running = new Map<string, Promise<number>>();
  readonly #next = new Map<string, Promise<number>>();

  constructor(store: Store, cache: WatchCache) {
    this.#store = store;
    this.#cache = cache;
  }

  /** Any fence will do, as there is one counter for all; callers that are likely to come together should name the same. Rejects with the store's error. */
  async refresh(fence: string, signal: AbortSignal): Promise<void> {
    const seen = await unlessAborted(this.#shared(fence), signal);
    await this.#cache.waitFor(seen, signal);
  }

  /** The bump of this fence that comes next: one under way may be older than what the caller knows. */
  #shared(fence: string): Promise<number> {
    const waiting = this.#next.get(fence);
    if (waiting !== undefined) return waiting;
    const turn = Promise.allSettled([this.#running.get(fence)]).then(() => {
      this.#next.delete(fence);
      const bump = this.#bump(fence).finally(() => {
        if (this.#running.get(fence) === bump) this.#running.delete(fence);
      });
      this.#running.set(fence, bump);
      return bump;
    });
    this.#next.set(fence, turn);
    return turn;
  }

  async #bump(fence: string): Promise<number> {
    const put = { key: fence, value: new Uint8Array() };
    const result = await this.#store.txn({ compares: [], puts: [put], deletes: [] }).done;
    return result.ok ? result.revision : this.#store.revision();
  }
}
