/**
 * A bounded queue of byte pieces with one reader. When the reader falls more than `maxBytes` behind, the queue ends: the reader gets what is
 * queued up to then, and the stream closes. Nothing is ever skipped.
 */
export class ByteQueue implements AsyncIterable<Uint8Array> {
  readonly #maxBytes: number;
  readonly #onEnd: () => void;
  #pieces: Uint8Array[] = [];
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

  push(piece: Uint8Array): void {
    if (this.#ended) return;
    this.#pieces.push(piece);
    this.#bytes += piece.length;
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

  async *[Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    try {
      for (;;) {
        const pieces = this.#pieces;
        this.#pieces = [];
        this.#bytes = 0;
        if (pieces.length === 1) yield pieces[0] as Uint8Array;
        else if (pieces.length > 1) yield Buffer.concat(pieces);
        if (this.#pieces.length > 0) continue;
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
