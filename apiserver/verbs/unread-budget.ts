/** Somebody for whom things are held until they are read. */
export interface UnreadHolder {
  /** How far back the oldest of them lies; undefined when there are none. */
  readonly oldest: number | undefined;
  /** Lets go of all of them, and ends. */
  drop(): void;
}

/** A place in a queue costs something too, and that is not shared. */
const PLACE_BYTES = 32;
/** When there is too much, readers are ended until this part of the most is left: not one with every event from there on. */
const LEFT_SHARE = 3 / 4;

/**
 * What a server holds in memory for readers that have not read it, all of them together. What is held for several counts once. When it is too
 * much, who is furthest behind is ended first: that is what nobody else needs any longer.
 */
export class UnreadBudget {
  readonly #maxBytes: number;
  readonly #holders = new Set<UnreadHolder>();
  readonly #readers = new Map<object, number>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** How much is held. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Counts the holder among those that may be ended, until it leaves. */
  enter(holder: UnreadHolder): void {
    this.#holders.add(holder);
  }

  leave(holder: UnreadHolder): void {
    this.#holders.delete(holder);
  }

  /** Notes that one more reader has not read it. May end any holder, the caller too. */
  hold(held: object, bytes: number): void {
    const readers = this.#readers.get(held) ?? 0;
    this.#readers.set(held, readers + 1);
    this.#bytes += readers === 0 ? bytes + PLACE_BYTES : PLACE_BYTES;
    if (this.#bytes > this.#maxBytes) this.#drop();
  }

  /** Notes that one reader has read it, or never will. */
  release(held: object, bytes: number): void {
    const readers = this.#readers.get(held) ?? 0;
    if (readers > 1) this.#readers.set(held, readers - 1);
    else this.#readers.delete(held);
    this.#bytes -= readers === 1 ? bytes + PLACE_BYTES : PLACE_BYTES;
  }

  #drop(): void {
    const behind = [...this.#holders].flatMap((holder) => (holder.oldest === undefined ? [] : [holder]));
    behind.sort((a, b) => (a.oldest ?? 0) - (b.oldest ?? 0));
    for (const holder of behind) {
      if (this.#bytes <= this.#maxBytes * LEFT_SHARE) return;
      holder.drop();
    }
  }
}
