import type { Clock } from '../../resources/ambient/clock.ts';

/** Two clocks that differ by more say that one of them is wrong. */
const MOST_SKEW_MS = 5_000;

/**
 * Wall time, and what it should be by the time that went by since this was made. A clock that is set does not move both, so what both say has come is
 * later than either says alone: a lease that ends by this lasts in full, whatever is done to the clock meanwhile.
 */
export class SteadyClock {
  readonly #clock: Clock;
  readonly #wallMs: number;
  readonly #monotonicMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#wallMs = clock.now();
    this.#monotonicMs = clock.monotonic();
  }

  read(): Reading {
    return { wallMs: this.#clock.now(), steadyMs: this.#wallMs + this.#clock.monotonic() - this.#monotonicMs };
  }
}

export interface Reading {
  readonly wallMs: number;
  readonly steadyMs: number;
}

/** What time it is at least. */
export function surelyMs({ wallMs, steadyMs }: Reading): number {
  return Math.min(wallMs, steadyMs);
}

/** Whether the two differ, and one of them says that an instant has come while the other does not. */
export function disagree({ wallMs, steadyMs }: Reading, atMs: number): boolean {
  return Math.abs(wallMs - steadyMs) > MOST_SKEW_MS && wallMs >= atMs !== steadyMs >= atMs;
}
