/** Lets so many in at a time; the others wait in the order they came. */
export class CallSlots {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(count: number) {
    this.#free = count;
  }

  /** Whether there was room; then `leave` must follow. */
  tryEnter(): boolean {
    if (this.#free === 0) return false;
    this.#free -= 1;
    return true;
  }

  /** Resolves inside; `leave` must follow. Rejects with the signal's reason when that comes first. */
  async enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.tryEnter()) return;
    await new Promise<void>((resolve, reject) => {
      const admit = () => {
        signal.removeEventListener('abort', give);
        resolve();
      };
      const give = () => {
        this.#waiting.delete(admit);
        reject(signal.reason);
      };
      signal.addEventListener('abort', give, { once: true });
      this.#waiting.add(admit);
    });
  }

  leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free += 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
