import type { Clock } from '../../../resources/ambient/clock.ts';

/** How long what is wanted waits for what is under way. */
const PATIENCE_MS = 20;

/**
 * When to begin something that serves all who want it by then: at the end of this turn of the loop, so that all who come meanwhile share it; while one is
 * under way, when that ends, or soon, should it take its time. Those who were served are told once the next is on its way: what they do then takes long, and
 * etcd need not wait for it.
 */
export class Pace {
  readonly #clock: Clock;
  readonly #begin: () => Promise<() => void>;
  #wanted = false;
  #underWay = 0;
  #stop = () => {};

  /** `begin` resolves, and never rejects, when it is over, with what tells those whom it served. */
  constructor(clock: Clock, begin: () => Promise<() => void>) {
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
    void this.#begin().then((tell) => {
      this.#underWay -= 1;
      if (this.#underWay > 0 || !this.#wanted) return tell();
      this.#next();
      // Behind what a session sends, which it does then too.
      setImmediate(tell);
    });
  }
}
