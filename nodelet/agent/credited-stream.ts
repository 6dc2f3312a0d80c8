import { ProtocolError, STREAM_WINDOW } from './protocol.ts';

/** Queued pieces smaller than this are joined, so that a guest sending single bytes cannot make us hold as many objects. */
const JOIN_BELOW = 4096;

/**
 * One stream of output. Bytes handed to the reader are granted back to the guest, so at most one window (256 KiB) is ever queued.
 * It is read once; a reader that leaves early (`break`) makes the rest be dropped, so that the command does not hang on it.
 */
export class CreditedStream implements AsyncIterable<Uint8Array> {
  readonly #grant: (bytes: number) => void;
  readonly #queue: Uint8Array[] = [];
  #queued = 0;
  #owed = 0;
  #state: 'fresh' | 'read' | 'dropped' = 'fresh';
  #end: { readonly error?: Error } | undefined;
  #wake: (() => void) | undefined;

  /** `grant` is called with bytes to give back, in steps of a quarter of the window. */
  constructor(grant: (bytes: number) => void) {
    this.#grant = grant;
  }

  /** Takes a copy. Throws `ProtocolError` when the guest sends more than it was granted. */
  push(bytes: Uint8Array): void {
    if (this.#end !== undefined || bytes.length === 0) return;
    if (this.#queued + this.#owed + bytes.length > STREAM_WINDOW)
      throw new ProtocolError('the agent sent more output than was granted');
    if (this.#state === 'dropped') {
      this.#give(bytes.length);
      return;
    }
    const last = this.#queue.at(-1);
    if (last !== undefined && last.length + bytes.length <= JOIN_BELOW)
      this.#queue[this.#queue.length - 1] = Buffer.concat([last, bytes]);
    else this.#queue.push(Uint8Array.from(bytes));
    this.#queued += bytes.length;
    this.#wake?.();
  }

  /** No more will come; a reader gets what is queued, and then the error if there is one. */
  end(error?: Error): void {
    this.#end ??= error === undefined ? {} : { error };
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, void> {
    if (this.#state !== 'fresh') throw new Error('a stream of output is read once');
    this.#state = 'read';
    try {
      for (;;) {
        const bytes = this.#take();
        if (bytes !== undefined) yield bytes;
        else if (this.#end?.error !== undefined) throw this.#end.error;
        else if (this.#end !== undefined) return;
        else await this.#more();
      }
    } finally {
      this.#state = 'dropped';
      this.#queue.length = 0;
      this.#give(this.#queued);
      this.#queued = 0;
    }
  }

  #take(): Uint8Array | undefined {
    const bytes = this.#queue.shift();
    if (bytes === undefined) return undefined;
    this.#queued -= bytes.length;
    this.#give(bytes.length);
    return bytes;
  }

  #more(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    return promise;
  }

  #give(bytes: number): void {
    this.#owed += bytes;
    if (this.#owed < STREAM_WINDOW / 4 || this.#end !== undefined) return;
    this.#grant(this.#owed);
    this.#owed = 0;
  }
}
