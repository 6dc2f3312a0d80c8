/** A range under way: a compaction waits for it if it goes past what is read. */
export interface RunningRange {
  /** The revision that is read. */
  revision: number;
}

/** The ranges of this process that are under way. */
export class RunningRanges {
  readonly #running = new Map<RunningRange, Promise<void>>();

  /** Notes a range while it is read. */
  async during<T>(range: RunningRange, read: () => Promise<T>): Promise<T> {
    const done = Promise.withResolvers<void>();
    this.#running.set(range, done.promise);
    try {
      return await read();
    } finally {
      this.#running.delete(range);
      done.resolve();
    }
  }

  /** Resolves when those have ended that are read before a revision now. */
  async before(revision: number): Promise<void> {
    await Promise.all([...this.#running].filter(([range]) => range.revision < revision).map(([, done]) => done));
  }
}
