import { UnreachableError } from '../../../apiserver/client/unreachable-error.ts';
import { Semaphore } from '../../../nodelet/drivers/semaphore.ts';

/** Hosts that connect for the first time together. A thousand at once would keep a server so busy that none of them is answered in time. */
const AT_ONCE = 16;

/** Lets the hosts of a process come to their servers one after the other, as fast as those take them. */
export class Arrivals {
  readonly #slots = new Semaphore(AT_ONCE);
  #isAway = false;

  /** Resolves when a host has asked its server something, in vain or not. Where no server is to be reached nobody waits for others. */
  async enter(ask: () => Promise<unknown>, signal: AbortSignal): Promise<void> {
    using _slot = await this.#slots.acquire(signal);
    if (this.#isAway) return;
    try {
      await ask();
    } catch (error) {
      signal.throwIfAborted();
      // Whoever asks again learns more, and says so.
      this.#isAway ||= error instanceof UnreachableError;
    }
  }
}
