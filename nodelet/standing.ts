/**
 * Whether this process may act for its host. It may not before a server has taken its control socket, nor while servers refuse it since another process with
 * the same identity is at work. One that merely cannot reach a server goes on as it was.
 */
export class Standing {
  #acts: boolean;
  #refusal: string | undefined;
  readonly #listeners = new Set<() => void>();

  /** `acts`: whether it may from the start, where nobody is asked. */
  constructor(acts: boolean) {
    this.#acts = acts;
  }

  get acts(): boolean {
    return this.#acts;
  }

  /** Why servers refuse it now, in a sentence. */
  get refusal(): string | undefined {
    return this.#refusal;
  }

  /** A server took its control socket. */
  accept(): void {
    this.#set(true, undefined);
  }

  /** A server refused it, or let go of it, for another's sake. */
  refuse(why: string): void {
    this.#set(false, why);
  }

  /** Hears of every change; the returned function stops it. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #set(acts: boolean, refusal: string | undefined): void {
    const before = { acts: this.#acts, refused: this.#refusal !== undefined };
    this.#acts = acts;
    this.#refusal = refusal;
    if (before.acts === acts && before.refused === (refusal !== undefined)) return;
    for (const listener of this.#listeners) listener();
  }
}
