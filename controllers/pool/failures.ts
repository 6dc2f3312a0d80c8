import type { Pool } from '../../resources/kinds/pool.ts';
import type { VM } from '../../resources/kinds/vm.ts';

const FIRST_DELAY_MS = 10_000;
const LONGEST_DELAY_MS = 300_000;

interface Streak {
  readonly count: number;
  readonly lastMs: number;
  readonly message: string;
  /** Members that were counted, or were ready when the last one failed. */
  readonly known: ReadonlySet<string>;
}

/** That members failed again and again, without one that came up in between. */
export interface Failing {
  readonly count: number;
  /** What the last one failed of. */
  readonly message: string;
  /** When the next one may be made. */
  readonly retryAtMs: number;
}

/**
 * How often members of a pool failed in a row, as long as this process lives: one that takes over begins anew, and finds out. One failure is replaced at once;
 * from the second on each waits twice as long as the one before, five minutes at most. Those found together count as one.
 */
export class Failures {
  readonly #streaks = new Map<string, Streak>();

  /** What is to be known of a pool of which these failed and these are ready. */
  seen(
    { metadata: { uid } }: Pool,
    failed: readonly VM[],
    ready: readonly VM[],
    messageOf: (vm: VM) => string,
    nowMs: number,
  ): Failing | undefined {
    const before = this.#streaks.get(uid);
    const fresh = failed.filter(({ metadata }) => before?.known.has(metadata.uid) !== true);
    const [first] = fresh;
    if (first !== undefined) {
      const known = new Set([...(before?.known ?? []), ...[...failed, ...ready].map(({ metadata }) => metadata.uid)]);
      this.#streaks.set(uid, { count: (before?.count ?? 0) + 1, lastMs: nowMs, message: messageOf(first), known });
    } else if (before !== undefined && ready.some(({ metadata }) => !before.known.has(metadata.uid))) {
      this.#streaks.delete(uid);
    }
    const streak = this.#streaks.get(uid);
    if (streak === undefined || streak.count < 2) return undefined;
    const { count, lastMs, message } = streak;
    const delayMs = Math.min(FIRST_DELAY_MS * 2 ** (count - 2), LONGEST_DELAY_MS);
    return { count, message, retryAtMs: lastMs + delayMs };
  }

  forget(uid: string): void {
    this.#streaks.delete(uid);
  }
}
