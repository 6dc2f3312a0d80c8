import type { Clock } from './clock.ts';

/** Who waits. The signal is asked for only when that takes its time: it may be made then. */
interface Caller {
  readonly signal: AbortSignal;
}

interface Wait {
  readonly caller: Caller;
  readonly reject: (reason: unknown) => void;
}

/** How often is looked whether those who wait are still there. */
const LOOK_MS = 50;

/**
 * Waits that are short as a rule, and are given up once their caller has gone away. One look every 50 ms at all that take longer costs less than what a
 * signal, its timer and its listeners cost each.
 */
export class SlowWaits {
  readonly #clock: Clock;
  /** Those since the last look, and those that it has seen. */
  #recent = new Set<Wait>();
  #slow = new Set<Wait>();
  #looking = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The promise's outcome, or the reason of the caller's signal when that has aborted before and is seen to be. */
  unlessGone<T>(promise: Promise<T>, caller: Caller): Promise<T> {
    return new Promise((resolve, reject) => {
      const wait = { caller, reject };
      this.#recent.add(wait);
      if (!this.#looking) this.#lookLater();
      promise.then(
        (value) => {
          this.#forget(wait);
          resolve(value);
        },
        (error: unknown) => {
          this.#forget(wait);
          reject(error);
        },
      );
    });
  }

  #forget(wait: Wait): void {
    if (!this.#recent.delete(wait)) this.#slow.delete(wait);
  }

  #lookLater(): void {
    this.#looking = true;
    this.#clock.after(LOOK_MS, () => {
      this.#looking = false;
      for (const wait of this.#slow) this.#look(wait);
      for (const wait of this.#recent) this.#slow.add(wait);
      this.#recent.clear();
      if (this.#slow.size > 0) this.#lookLater();
    });
  }

  #look(wait: Wait): void {
    const { signal } = wait.caller;
    if (!signal.aborted) return;
    this.#slow.delete(wait);
    wait.reject(signal.reason);
  }
}

const ofClock = new WeakMap<Clock, SlowWaits>();

/** Those of a clock: what waits by one clock is looked at together. */
export function slowWaits(clock: Clock): SlowWaits {
  const known = ofClock.get(clock) ?? new SlowWaits(clock);
  ofClock.set(clock, known);
  return known;
}
