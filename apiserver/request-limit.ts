import { ApiError } from '../resources/meta/api-error.ts';
import { type Eventual, whenOver } from './eventual.ts';

/** So many requests at once, each of whose bodies may be 3 MiB long. */
export const MOST_REQUESTS = 1000;

/** Bounds what is worked on at once: whoever comes on top is told to come again in a second. */
export class RequestLimit {
  readonly #most: number;
  #running = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** What `work` answers. Throws `TooManyRequests` without beginning it while as many run as may. */
  run<T>(work: () => Eventual<T>): Eventual<T> {
    if (this.#running >= this.#most) {
      const message = `more than ${this.#most} requests are being answered; try again later`;
      throw new ApiError('TooManyRequests', message, { details: { retryAfterSeconds: 1 } });
    }
    this.#running++;
    return whenOver(work, () => {
      this.#running--;
    });
  }
}
