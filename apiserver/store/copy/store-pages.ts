import type { Entry, Store } from '../store.ts';

/** Keys of the first page; the next ones are as large as their bytes allow. */
const FIRST_KEYS = 64;
const MOST_KEYS = 1000;
const WANTED_BYTES = 1 << 20;

/**
 * Everything in a store at a revision, in key order, a page of about a megabyte at a time: the next one is read when it is asked for. Throws
 * `StoreError` `Compacted` when that revision is gone before the end.
 */
export async function* storePages(
  store: Store,
  revision: number,
  signal: AbortSignal,
): AsyncGenerator<readonly Entry[]> {
  let limit = FIRST_KEYS;
  let after: string | undefined;
  for (;;) {
    const { entries, remaining } = await store.range(
      { prefix: '', limit, revision, ...(after === undefined ? {} : { after }) },
      signal,
    );
    if (entries.length > 0) yield entries;
    if (remaining === 0) return;
    after = entries.at(-1)?.key;
    const bytes = entries.reduce((sum, { key, value }) => sum + key.length + value.byteLength, 0);
    const fitting = Math.floor((limit * WANTED_BYTES) / Math.max(1, bytes));
    limit = Math.max(1, Math.min(fitting, limit * 4, MOST_KEYS));
  }
}

/** How many keys with a prefix a store has at a revision. */
export async function countKeys(store: Store, prefix: string, revision: number, signal: AbortSignal): Promise<number> {
  return (await store.range({ prefix, limit: 0, revision }, signal)).remaining;
}
