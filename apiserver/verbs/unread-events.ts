import type { CacheEvent } from '../cache/resource-cache.ts';
import type { EventType } from './event-encoder.ts';
import type { UnreadBudget, UnreadHolder } from './unread-budget.ts';

/** An event as its watcher is told it, or a line that is made already. */
type UnreadEvent =
  | { readonly type: EventType; readonly event: CacheEvent }
  | { readonly type: 'BOOKMARK'; readonly line: Uint8Array };

/** So much is given to the reader at a time: what a reader that stopped has in hand is nobody else's. */
const PIECE_BYTES = 64 << 10;

/**
 * What one watcher has not read. When it falls more than `maxBytes` behind, no more is added: its reader gets what there is up to then. When
 * all watchers together hold too much, those furthest behind get no more at all. Nothing is ever skipped.
 */
export class UnreadEvents implements UnreadHolder, AsyncIterable<readonly UnreadEvent[]> {
  readonly #maxBytes: number;
  readonly #budget: UnreadBudget;
  readonly #onEnd: () => void;
  #items: UnreadEvent[] = [];
  /** Where those begin that were not read: read ones are cut off in bulk. */
  #start = 0;
  #bytes = 0;
  #ended = false;
  #dropped = false;
  #wake: (() => void) | undefined;

  /** `onEnd` runs once, when no more is added for whatever reason. */
  constructor(maxBytes: number, budget: UnreadBudget, onEnd: () => void) {
    this.#maxBytes = maxBytes;
    this.#budget = budget;
    this.#onEnd = onEnd;
  }

  get oldest(): number | undefined {
    const item = this.#items[this.#start];
    if (item === undefined) return undefined;
    return 'event' in item ? item.event.revision : 0;
  }

  /** Whether it was ended for what all watchers hold together. */
  get dropped(): boolean {
    return this.#dropped;
  }

  push(item: UnreadEvent): void {
    if (this.#ended) return;
    if (this.#start === this.#items.length) this.#budget.enter(this);
    this.#items.push(item);
    const bytes = bytesOf(item);
    this.#bytes += bytes;
    this.#budget.hold(heldBy(item), bytes);
    if (this.#bytes > this.#maxBytes) this.end();
    this.#wake?.();
  }

  /** No more is added; what there is is still read. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#onEnd();
    this.#wake?.();
  }

  drop(): void {
    this.#dropped = true;
    this.#forget();
    this.end();
  }

  /** All that there is, in pieces, each time there is something. */
  async *[Symbol.asyncIterator](): AsyncIterator<readonly UnreadEvent[]> {
    try {
      for (;;) {
        const piece = this.#take();
        if (piece.length > 0) {
          yield piece;
          continue;
        }
        if (this.#ended) return;
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        this.#wake = undefined;
      }
    } finally {
      this.#forget();
      this.end();
    }
  }

  /** The next of them, one at least, and about as much as a piece. */
  #take(): readonly UnreadEvent[] {
    const from = this.#start;
    let bytes = 0;
    while (this.#start < this.#items.length && bytes < PIECE_BYTES) {
      const item = this.#items[this.#start] as UnreadEvent;
      bytes += this.#release(item);
      this.#start += 1;
    }
    const piece = this.#items.slice(from, this.#start);
    if (this.#start === this.#items.length) {
      this.#items = [];
      this.#start = 0;
      this.#budget.leave(this);
    } else if (this.#start > this.#items.length / 2) {
      this.#items = this.#items.slice(this.#start);
      this.#start = 0;
    }
    return piece;
  }

  #release(item: UnreadEvent): number {
    const bytes = bytesOf(item);
    this.#bytes -= bytes;
    this.#budget.release(heldBy(item), bytes);
    return bytes;
  }

  #forget(): void {
    for (const item of this.#items.slice(this.#start)) this.#release(item);
    this.#items = [];
    this.#start = 0;
    this.#budget.leave(this);
  }
}

const bytesOf = (item: UnreadEvent): number => ('event' in item ? item.event.current.bytes.length : item.line.length);

/** The same for all who are told of one event. */
const heldBy = (item: UnreadEvent): object => ('event' in item ? item.event : item.line);
