import type { Clock } from '../resources/ambient/clock.ts';
import type { Logger } from '../resources/ambient/log.ts';
import { type HistoryMark, HistoryMarks } from './history-marks.ts';
import { type Store, StoreError } from './store/store.ts';

const LOOK_MS = 2_000;
/** After a failure, a full disk say, which does not pass in a moment. */
const AGAIN_MS = 60_000;
/** Reconnecting watches and paged lists rely on history: five minutes of it stay, and five seconds whatever is written. */
const KEPT = { mostMs: 5 * 60_000, leastMs: 5_000 } as const;
/** So much history may pile up in less than five minutes; of a large store, half as much as it holds. */
const KEPT_BYTES = 16 << 20;
/** No key begins with this. */
const NOTHING = '~';

interface CompactorDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Forgets history older than five minutes, and sooner when more of it has piled up than a share of the store. So a store stays within a few
 * times what it holds, however much is written. Of several servers on one store one compacts: the others see that it did.
 */
export async function keepCompacting(deps: CompactorDeps, signal: AbortSignal): Promise<void> {
  const compactor = new Compactor(deps);
  try {
    for (;;) {
      let waitMs = LOOK_MS;
      await compactor.look(signal).catch((error: unknown) => {
        waitMs = AGAIN_MS;
        if (!signal.aborted) deps.log.error('history not compacted', { error: String(error) });
      });
      await deps.clock.sleep(waitMs, signal);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

class Compactor {
  readonly #deps: CompactorDeps;
  readonly #marks = new HistoryMarks(KEPT);
  /** Up to where this server has compacted, or left it to another. */
  #meant: number;

  constructor(deps: CompactorDeps) {
    this.#deps = deps;
    this.#meant = deps.store.compactedRevision();
  }

  async look(signal: AbortSignal): Promise<void> {
    const { store } = this.#deps;
    const now = this.#now();
    this.#marks.note(now);
    const target = this.#marks.cut(now, await this.#mostBytes(now, signal))?.revision;
    if (target === undefined || target <= this.#meant) return;
    if (!(await this.#another(signal))) await store.compact(target, signal);
    this.#meant = target;
  }

  #now(): HistoryMark {
    const { store, clock } = this.#deps;
    return { revision: store.revision(), published: store.published?.() ?? 0, atMs: clock.monotonic() };
  }

  /** How much history may stay that is not old yet. The size is asked for only when there is much. */
  async #mostBytes(now: HistoryMark, signal: AbortSignal): Promise<number> {
    const grown = this.#marks.grown(now);
    if (grown <= KEPT_BYTES) return KEPT_BYTES;
    const size = await this.#deps.store.size?.(signal);
    return Math.max(KEPT_BYTES, ((size?.usedBytes ?? 0) - grown) / 2);
  }

  /** Whether another server has compacted past where this one last meant to: then it will go on doing so, or this one does next time. */
  async #another(signal: AbortSignal): Promise<boolean> {
    const { store } = this.#deps;
    // Where nobody else writes the answer is known.
    if (store.latest === undefined) return store.compactedRevision() > this.#meant;
    try {
      await store.range({ prefix: NOTHING, limit: 1, revision: this.#meant }, signal);
      return false;
    } catch (error) {
      if (error instanceof StoreError && error.reason === 'Compacted') return true;
      throw error;
    }
  }
}
