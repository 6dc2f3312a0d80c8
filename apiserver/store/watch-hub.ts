import { type Batch, StoreError } from './store.ts';

/** What a batch, and each of its events, is charged for besides keys and values. */
const EVENT_OVERHEAD_BYTES = 64;

/**
 * The one place where the durable revision and its batches move, in one step: who reads revision N can read every batch up to N.
 *
 * The last `bufferBytes` of batches are kept once, for all readers, and each reader is only a position in them. A reader whose
 * next batch is gone is ended; nothing is ever skipped and a reader that stopped reading costs nothing.
 */
export class WatchHub {
  #revision: number;
  /** The revision of the newest batch no longer kept. */
  #floor: number;
  readonly #bufferBytes: number;
  #kept: { readonly batch: Batch; readonly bytes: number }[] = [];
  #keptBytes = 0;
  #publishedBytes = 0;
  /** The place in `#kept` where the kept ones start: dropped ones are cut off in bulk. */
  #start = 0;
  /** How many batches were ever cut off the front of `#kept`. */
  #cut = 0;
  #ended: StoreError | undefined;
  readonly #waiting = new Set<() => void>();

  constructor(revision: number, bufferBytes: number) {
    this.#revision = revision;
    this.#floor = revision;
    this.#bufferBytes = bufferBytes;
  }

  get revision(): number {
    return this.#revision;
  }

  /** Bytes of all batches handed out so far. */
  get published(): number {
    return this.#publishedBytes;
  }

  /** Whether a reader that has seen everything up to `revision` can go on from here. */
  reaches(revision: number): boolean {
    return revision >= this.#floor;
  }

  /** Moves the revision and hands out its batches. */
  publish(batches: readonly Batch[]): void {
    for (const batch of batches) {
      const bytes = batchBytes(batch);
      this.#kept.push({ batch, bytes });
      this.#keptBytes += bytes;
      this.#publishedBytes += bytes;
      this.#revision = batch.revision;
    }
    this.#drop();
    this.#wake();
  }

  /** Ends every reader with `error`, after what was published. */
  end(error: StoreError): void {
    this.#ended ??= error;
    this.#wake();
  }

  /** Batches after `revision`, which `reaches` must have accepted in the same step. */
  async *follow(revision: number, signal: AbortSignal): AsyncGenerator<Batch> {
    let next = this.#cut + this.#firstAfter(revision);
    let wake = () => {};
    const onAbort = () => wake();
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      while (!signal.aborted) {
        if (next < this.#cut + this.#start) throw this.#slowReader();
        const kept = this.#kept[next - this.#cut];
        if (kept !== undefined) {
          next += 1;
          yield kept.batch;
        } else if (this.#ended !== undefined) {
          throw this.#ended;
        } else {
          await new Promise<void>((resolve) => {
            wake = resolve;
            this.#waiting.add(resolve);
          });
          this.#waiting.delete(wake);
        }
      }
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  #slowReader(): StoreError {
    const message = `the watcher fell more than ${this.#bufferBytes} bytes behind; list again and watch from there`;
    return new StoreError('SlowReader', message);
  }

  /** The newest batch stays whatever its size: a prompt reader must be able to get it. */
  #drop(): void {
    while (this.#keptBytes > this.#bufferBytes && this.#start < this.#kept.length - 1) {
      const oldest = this.#kept[this.#start];
      if (oldest === undefined) break;
      this.#keptBytes -= oldest.bytes;
      this.#floor = oldest.batch.revision;
      this.#start += 1;
    }
    if (this.#start > this.#kept.length / 2) {
      this.#kept = this.#kept.slice(this.#start);
      this.#cut += this.#start;
      this.#start = 0;
    }
  }

  #firstAfter(revision: number): number {
    let low = this.#start;
    let high = this.#kept.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#kept[middle]?.batch.revision ?? 0) > revision) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  #wake(): void {
    for (const done of this.#waiting) done();
    this.#waiting.clear();
  }
}

function batchBytes(batch: Batch): number {
  let bytes = EVENT_OVERHEAD_BYTES;
  for (const event of batch.events) {
    bytes += EVENT_OVERHEAD_BYTES + event.key.length + (event.type === 'put' ? event.value.byteLength : 0);
  }
  return bytes;
}
