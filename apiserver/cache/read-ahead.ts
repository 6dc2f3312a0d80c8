import { type Batch, type Store, StoreError } from '../store/store.ts';

/** As much as a resource remembers. */
const MOST_BYTES = 16 << 20;

/** What happened after a revision, up to another or as far as there is room for it; less when the store breaks off: whoever goes on from there learns why. */
export async function readAhead(
  store: Store,
  { from, upTo }: { readonly from: number; readonly upTo: number },
  signal: AbortSignal,
): Promise<readonly Batch[]> {
  const batches: Batch[] = [];
  if (from >= upTo) return batches;
  let bytes = 0;
  try {
    for await (const batch of store.watch(from, signal)) {
      batches.push(batch);
      for (const event of batch.events) bytes += event.type === 'put' ? event.value.length : 0;
      if (batch.revision >= upTo || bytes > MOST_BYTES) break;
    }
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
  }
  return batches;
}
