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
  /** By uid of the lease: when this process gave it its host, by the time that went by. */
  readonly #givenMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#wallMs = clock.now();
    this.#monotonicMs = clock.monotonic();
  }

  read(): Reading {
    return { wallMs: this.#clock.now(), steadyMs: this.#wallMs + this.#clock.monotonic() - this.#monotonicMs };
  }

  /** A lease was given its host just now; or one that another lease had, since that was given it. */
  given(uid: string, takenOverFrom?: string): void {
    const givenMs = takenOverFrom === undefined ? this.read().steadyMs : this.#givenMs.get(takenOverFrom);
    if (takenOverFrom !== undefined) this.#givenMs.delete(takenOverFrom);
    if (givenMs !== undefined) this.#givenMs.set(uid, givenMs);
  }

  /** It has ended. */
  forget(uid: string): void {
    this.#givenMs.delete(uid);
  }

  /**
   * The time for the end of one lease. Where the clock was behind when it was given, so that its grant is dated too early, that much more has to go by.
   */
  readFor(uid: string, grantedAt: string | undefined): Reading {
    const { wallMs, steadyMs } = this.read();
    const datedMs = Date.parse(grantedAt ?? '');
    const lateMs = Math.max(0, (this.#givenMs.get(uid) ?? datedMs) - datedMs);
    return { wallMs, steadyMs: steadyMs - (lateMs > MOST_SKEW_MS ? lateMs : 0) };
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
