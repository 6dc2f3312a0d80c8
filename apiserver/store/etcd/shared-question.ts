import type { Clock } from '../../../resources/ambient/clock.ts';
import { Pace } from './pace.ts';

/** One question asked by many. Each is answered by one that begins after it asked, as one under way may be older than what its asker knows. */
export class SharedQuestion<T> {
  readonly #ask: () => Promise<T>;
  readonly #pace: Pace;
  /** The one that begins next. */
  #next: PromiseWithResolvers<T> | undefined;

  constructor(clock: Clock, ask: () => Promise<T>) {
    this.#ask = ask;
    this.#pace = new Pace(clock, () => this.#begin());
  }

  answer(): Promise<T> {
    this.#next ??= Promise.withResolvers();
    this.#pace.want();
    return this.#next.promise;
  }

  async #begin(): Promise<() => void> {
    const { resolve, reject } = this.#next ?? Promise.withResolvers<T>();
    this.#next = undefined;
    try {
      const answer = await this.#ask();
      return () => resolve(answer);
    } catch (error) {
      return () => reject(error);
    }
  }
}
