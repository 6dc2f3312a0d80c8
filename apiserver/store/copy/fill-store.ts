import { STORE_LIMITS, type Store, StoreError } from '../store.ts';

/** What a copy takes over of an entry: its revisions are the new store's. */
export interface KeyValue {
  readonly key: string;
  readonly value: Uint8Array;
}

/** Transactions under way at a time: enough to keep a disk, or a quorum, busy. */
const MOST_PENDING = 8;
const ATTEMPTS = 5;

/**
 * Writes every entry into a store that nobody else has open. `progress` is told how many are written. A write whose outcome is not known is simply
 * done again. Throws StoreError when one fails for good.
 */
export async function fillStore(
  store: Store,
  pages: AsyncIterable<readonly KeyValue[]>,
  signal: AbortSignal,
  progress: (keys: number) => void = () => {},
): Promise<number> {
  const pending = new Set<Promise<void>>();
  let failure: { readonly error: unknown } | undefined;
  let written = 0;
  const put = (puts: readonly KeyValue[]) => {
    const done = write(store, puts, signal)
      .then(() => {
        written += puts.length;
        progress(written);
      })
      .catch((error: unknown) => {
        failure ??= { error };
      })
      .finally(() => pending.delete(done));
    pending.add(done);
  };
  try {
    for await (const puts of transactions(pages)) {
      put(puts);
      if (pending.size >= MOST_PENDING) await Promise.race(pending);
      if (failure !== undefined) throw failure.error;
    }
  } finally {
    await Promise.all(pending);
  }
  if (failure !== undefined) throw failure.error;
  return written;
}

async function write(store: Store, puts: readonly KeyValue[], signal: AbortSignal): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    signal.throwIfAborted();
    try {
      await store.txn({ compares: [], puts, deletes: [] }).done;
      return;
    } catch (error) {
      const again = error instanceof StoreError && ['UnknownOutcome', 'Unavailable'].includes(error.reason);
      if (!again || attempt === ATTEMPTS) throw error;
    }
  }
}

/** Entries in portions that every store takes. */
async function* transactions(pages: AsyncIterable<readonly KeyValue[]>): AsyncGenerator<readonly KeyValue[]> {
  let puts: KeyValue[] = [];
  let bytes = 0;
  for await (const page of pages) {
    for (const { key, value } of page) {
      const more = value.byteLength;
      if (puts.length === STORE_LIMITS.txnOperations || (puts.length > 0 && bytes + more > MOST_BYTES)) {
        yield puts;
        puts = [];
        bytes = 0;
      }
      puts.push({ key, value });
      bytes += more;
    }
  }
  if (puts.length > 0) yield puts;
}

/** Of values in one transaction. Keys come on top, and etcd counts them too. */
const MOST_BYTES = 1_000_000;
