/**
 * A bounded queue with one reader. When the reader falls more than `maxBytes` behind, the queue ends: the reader gets what is queued up to
 * then, and no more. Nothing is ever skipped.
 */
export class BoundedQueue<T> implements AsyncIterable<readonly T[]> {
  readonly #maxBytes: number;
  readonly #onEnd: () => void;
  #items: T[] = [];
  #bytes = 0;
  #ended = false;
  #wake: (() => void) | undefined;

  /** `onEnd` runs once, when the queue ends for whatever reason. */
  constructor(maxBytes: number, onEnd: () => void) {
    this.#maxBytes = maxBytes;
    this.#onEnd = onEnd;
  }

  get ended(): boolean {
    return this.#ended;
  }

  push(item: T, bytes: number): void {
    if (this.#ended) return;
    this.#items.push(item);
    this.#bytes += bytes;
    if (this.#bytes > this.#maxBytes) this.end();
    this.#wake?.();
  }

  /** No more will be pushed; what is queued is still read. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#onEnd();
    this.#wake?.();
  }

  /** All that is queued, each time there is something. */
  async *[Symbol.asyncIterator](): AsyncIterator<readonly T[]> {
    try {
      for (;;) {
        const items = this.#items;
        this.#items = [];
        this.#bytes = 0;
        if (items.length > 0) yield items;
        if (this.#items.length > 0) continue;
        if (this.#ended) return;
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        this.#wake = undefined;
      }
    } finally {
      this.end();
    }
  }
}
