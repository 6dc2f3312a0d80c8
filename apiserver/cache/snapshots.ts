import type { Clock } from '../../resources/ambient/clock.ts';
import type { StoredObject } from './stored-object.ts';

const KEEP_MS = 5 * 60_000;
const KEEP_COUNT = 64;

/**
 * Lists that somebody is still paging through, by resource and revision. A snapshot is the cache's own sorted array, so keeping one costs
 * little. At most 64, five minutes each since last used; after that a page is read from the store's history.
 */
export class ListSnapshots {
  readonly #clock: Clock;
  readonly #kept = new Map<string, { readonly objects: readonly StoredObject[]; usedAt: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  keep(resourceId: string, revision: number, objects: readonly StoredObject[]): void {
    const key = `${resourceId}@${revision}`;
    this.#kept.delete(key);
    this.#kept.set(key, { objects, usedAt: this.#clock.monotonic() });
    this.#trim();
  }

  find(resourceId: string, revision: number): readonly StoredObject[] | undefined {
    this.#trim();
    const kept = this.#kept.get(`${resourceId}@${revision}`);
    if (kept === undefined) return undefined;
    kept.usedAt = this.#clock.monotonic();
    return kept.objects;
  }

  /** Forgets all of them: later pages come from the store's history. */
  clear(): void {
    this.#kept.clear();
  }

  #trim(): void {
    const now = this.#clock.monotonic();
    for (const [key, kept] of this.#kept) {
      if (now - kept.usedAt > KEEP_MS || this.#kept.size > KEEP_COUNT) this.#kept.delete(key);
    }
  }
}
