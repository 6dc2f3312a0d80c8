import type { Clock } from '../../../resources/ambient/clock.ts';

/** How long a question waits for the one before it. */
const PATIENCE_MS = 20;

/**
 * One question asked by many. Each is answered by one that begins after it asked, as one under way may be older than what its asker knows. That begins
 * when the one under way ends, so that all who ask meanwhile share it, or soon, should that one take its time.
 */
export class SharedQuestion<T> {
  readonly #clock: Clock;
  readonly #ask: () => Promise<T>;
  /** The one that begins next. */
  #next: Promise<T> | undefined;
  /** The one under way, or that was last. */
  #asking: Promise<unknown> = Promise.resolve();

  constructor(clock: Clock, ask: () => Promise<T>) {
    this.#clock = clock;
    this.#ask = ask;
  }

  answer(): Promise<T> {
    this.#next ??= this.#turn().then(() => {
      this.#next = undefined;
      const answer = this.#ask();
      this.#asking = answer.catch(() => {});
      return answer;
    });
    return this.#next;
  }

  async #turn(): Promise<void> {
    const patience = Promise.withResolvers<void>();
    const stop = this.#clock.after(PATIENCE_MS, patience.resolve);
    await Promise.race([this.#asking, patience.promise]);
    stop();
  }
}
