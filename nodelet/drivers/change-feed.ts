/** Hints a reader has not taken beyond this number are dropped: `list` finds what they were about. */
const MAX_PENDING = 65_536;

class Reader {
  readonly #pending = new Set<string>();
  #wake: (() => void) | undefined;
  #ended = false;

  push(id: string): void {
    if (this.#pending.size < MAX_PENDING) this.#pending.add(id);
    this.#wake?.();
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  async take(): Promise<IteratorResult<string, undefined>> {
    for (;;) {
      if (this.#ended) return { done: true, value: undefined };
      const first = this.#pending.values().next();
      if (!first.done) {
        this.#pending.delete(first.value);
        return first;
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
  }
}

/** Hands guest ids to any number of readers. A reader that is slow gets each id once. */
export class ChangeFeed {
  readonly #readers = new Set<Reader>();

  emit(id: string): void {
    for (const reader of this.#readers) reader.push(id);
  }

  /** Hears everything emitted from this call on. Ends, without an error, when the signal aborts. */
  read(signal: AbortSignal): AsyncIterable<string> {
    const reader = new Reader();
    const leave = () => {
      this.#readers.delete(reader);
      signal.removeEventListener('abort', leave);
      reader.end();
    };
    if (signal.aborted) reader.end();
    else {
      this.#readers.add(reader);
      signal.addEventListener('abort', leave, { once: true });
    }
    return {
      [Symbol.asyncIterator]: () => ({
        next: () => reader.take(),
        return: async () => {
          leave();
          return { done: true, value: undefined };
        },
      }),
    };
  }

  /** Ends every reader. */
  close(): void {
    for (const reader of this.#readers) reader.end();
    this.#readers.clear();
  }
}
