import type { CacheEvent } from './resource-cache.ts';

/** Half of what one watcher may be behind by. Objects that were read take some four times as much room as their encodings. */
const MOST_BYTES = 4 << 20;

/**
 * The latest events of all resources, by the bytes of their objects. Who watches is told of them, and who writes looks at them, within seconds of each
 * other: whatever was made of an event meanwhile is shared. An event that is none of these any more is settled, and kept as bytes.
 */
export class RecentEvents {
  readonly #mostBytes: number;
  #events: CacheEvent[] = [];
  /** Where those begin that are recent: others are cut off in bulk. */
  #start = 0;
  #bytes = 0;

  constructor(mostBytes = MOST_BYTES) {
    this.#mostBytes = mostBytes;
  }

  add(event: CacheEvent): void {
    this.#events.push(event);
    this.#bytes += event.current.bytes.length;
    while (this.#bytes > this.#mostBytes && this.#start < this.#events.length - 1) {
      const oldest = this.#events[this.#start++] as CacheEvent;
      this.#bytes -= oldest.current.bytes.length;
      oldest.settle();
    }
    if (this.#start > this.#events.length / 2) {
      this.#events = this.#events.slice(this.#start);
      this.#start = 0;
    }
  }
}
