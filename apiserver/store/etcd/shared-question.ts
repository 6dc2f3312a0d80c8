import type { Clock } from '../../../resources/ambient/clock.ts';

/** How long a question waits for the one before it. */
const PATIENCE_MS = 20;

/**
 * One question asked by many. Each is answered by one that begins after it asked, as one under way may be older than what its asker knows. That begins
 * when the one under way ends, or at the end of this turn of the loop, so that all who ask meanwhile share it, or soon, should that one take its time.
 */
export class SharedQuestion<T> {
  readonly #clock: Clock;
  readonly #ask: () => Promise<T>;
  /** The one that begins next. */
  #next: PromiseWithResolvers<T> | undefined;
  /** How many are under way. */
  #asking = 0;
  #stop = () => {};

  constructor(clock: Clock, ask: () => Promise<T>) {
    this.#clock = clock;
    this.#ask = ask;
  }

  answer(): Promise<T> {
    if (this.#next === undefined) {
      this.#next = Promise.withResolvers();
      if (this.#asking === 0) setImmediate(() => this.#begin());
      else this.#stop = this.#clock.after(PATIENCE_MS, () => this.#begin());
    }
    return this.#next.promise;
  }

  #begin(): void {
    this.#stop();
    const next = this.#next;
    if (next === undefined) return;
    this.#next = undefined;
    this.#asking += 1;
    const over = () => {
      this.#asking -= 1;
      if (this.#asking === 0) this.#begin();
    };
    this.#ask().then(
      (answer) => {
        over();
        next.resolve(answer);
      },
      (error: unknown) => {
        over();
        next.reject(error);
      },
    );
  }
}
