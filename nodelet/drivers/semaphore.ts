/** Lets `size` holders in at once; the others wait in order. */
export class Semaphore {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(size: number) {
    if (!Number.isInteger(size) || size < 1) throw new RangeError(`a semaphore holds at least 1, not ${size}`);
    this.#free = size;
  }

  /** Resolves with a place, given back by disposing it. Rejects with the signal's reason when it aborts first. */
  async acquire(signal: AbortSignal): Promise<Disposable> {
    signal.throwIfAborted();
    if (this.#free > 0) this.#free -= 1;
    else await this.#wait(signal);
    return this.#place();
  }

  #wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const enter = () => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const leave = () => {
        this.#waiting.delete(enter);
        reject(signal.reason);
      };
      this.#waiting.add(enter);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  #place(): Disposable {
    let held = true;
    return {
      [Symbol.dispose]: () => {
        if (!held) return;
        held = false;
        const next = this.#waiting.values().next();
        if (next.done) {
          this.#free += 1;
          return;
        }
        // The place goes from hand to hand, so that a newcomer cannot slip in before those who wait.
        this.#waiting.delete(next.value);
        next.value();
      },
    };
  }
}
