import type { Clock } from '../../../resources/ambient/clock.ts';

/** How long after it was asked for an answer may be relied on that says that nobody else is there. */
export const RIGHT_MS = 1_000;

/** By both clocks. */
export interface Moment {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/**
 * Whether this process may answer for the store without asking etcd, as nobody else writes to it or reads from it. Both clocks must agree: the one that
 * never goes back stands still while a machine sleeps.
 */
export class SoleRight {
  readonly #clock: Clock;
  #since: Moment | undefined;
  #told = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): Moment {
    return { monotonicMs: this.#clock.monotonic(), wallMs: this.#clock.now() };
  }

  /** It is held until a while after a question was asked, which said that it is. */
  extend(asked: Moment): void {
    this.#since = asked;
  }

  drop(): void {
    this.#since = undefined;
  }

  /** Somebody knows of a revision, by a way other than the watch. */
  told(revision: number): void {
    this.#told = Math.max(this.#told, revision);
  }

  get isHeld(): boolean {
    if (this.#since === undefined) return false;
    const { monotonicMs, wallMs } = this.#since;
    const wentBy = this.#clock.now() - wallMs;
    return this.#clock.monotonic() - monotonicMs < RIGHT_MS && wentBy < RIGHT_MS && wentBy >= 0;
  }

  /** Whether what was published up to a revision is all that anybody can know of. */
  covers(revision: number): boolean {
    return revision >= this.#told && this.isHeld;
  }
}
