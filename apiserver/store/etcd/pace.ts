import type { Clock } from '../../../resources/ambient/clock.ts';

/** How long what is wanted waits for what is under way. */
const PATIENCE_MS = 20;

/**
 * When to begin something that serves all who want it by then: at the end of this turn of the loop, so that all who come meanwhile share it; while one is
 * under way, when that ends, or soon, should it take its time.
 */
export class Pace {
  readonly #clock: Clock;
  /** Resolves or rejects when it is over. */
  readonly #begin: () => Promise<unknown>;
  #wanted = false;
  #underWay = 0;
  #stop = () => {};

  constructor(clock: Clock, begin: () => Promise<unknown>) {
    this.#clock = clock;
    this.#begin = begin;
  }

  /** Sees to it that one begins after this. */
  want(): void {
    if (this.#wanted) return;
    this.#wanted = true;
    if (this.#underWay === 0) setImmediate(() => this.#next());
    else this.#stop = this.#clock.after(PATIENCE_MS, () => this.#next());
  }

  #next(): void {
    this.#stop();
    if (!this.#wanted) return;
    this.#wanted = false;
    this.#underWay += 1;
    const over = () => {
      this.#underWay -= 1;
      if (this.#underWay === 0) this.#next();
    };
    this.#begin().then(over, over);
  }
}
