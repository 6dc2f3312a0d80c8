/** Turns at keys: who enters a key waits until everybody who entered before has left. */
export class KeyQueue {
  readonly #tails = new Map<string, Promise<void>>();

  /** Resolves, in order, with the function that lets the next one in. Rejects with the signal's reason; the place in the queue is given up then. */
  async enter(key: string, signal: AbortSignal): Promise<() => void> {
    const before = this.#tails.get(key) ?? Promise.resolve();
    const { promise: left, resolve: leave } = Promise.withResolvers<void>();
    const tail = before.then(() => left);
    this.#tails.set(key, tail);
    void tail.then(() => {
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    });
    try {
      await unlessAborted(before, signal);
    } catch (error) {
      leave();
      throw error;
    }
    return leave;
  }

  /** Keys with somebody in them. */
  get size(): number {
    return this.#tails.size;
  }
}

/** The promise's outcome, or the signal's reason when that comes first. */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    const over = () => signal.removeEventListener('abort', onAbort);
    promise.then(resolve, reject).then(over, over);
  });
}
