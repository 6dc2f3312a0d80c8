/** Runs tasks side by side, at most `limit` at once, and gathers what went wrong. */
export class InFlight {
  readonly #limit: number;
  readonly #running = new Set<Promise<void>>();
  readonly #errors: unknown[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Resolves when the task has begun, which is when there is room for it. */
  async start(task: () => Promise<void>): Promise<void> {
    while (this.#running.size >= this.#limit) await Promise.race(this.#running);
    const running = task()
      .catch((error: unknown) => {
        this.#errors.push(error);
      })
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Resolves when every task has ended; throws the one error there was, or an AggregateError of several. */
  async finish(): Promise<void> {
    await Promise.all(this.#running);
    if (this.#errors.length === 1) throw this.#errors[0];
    if (this.#errors.length > 1) {
      throw new AggregateError(this.#errors, `${this.#errors.length} failed, the first: ${String(this.#errors[0])}`);
    }
  }
}
