import type { Entry, TxnRequest } from '../store.ts';
import { EtcdCallError } from './call-error.ts';

const NO_BYTES = new Uint8Array();

/** etcd does the write that uses up its room, and says of that too that there was none. What it does to the first key shows whether it was this one. */
export async function mayBeDone(
  error: unknown,
  { compares, puts, deletes }: TxnRequest,
  get: (key: string) => Promise<Entry | undefined>,
): Promise<boolean> {
  if (!(error instanceof EtcdCallError) || error.failure !== 'NoSpace') return false;
  const key = puts[0]?.key ?? deletes[0];
  if (key === undefined) return false;
  const compared = compares.find((compare) => compare.key === key);
  try {
    const entry = await get(key);
    if (compared !== undefined) return (entry?.modRevision ?? 0) !== compared.revision;
    return Buffer.compare(entry?.value ?? NO_BYTES, puts[0]?.value ?? NO_BYTES) === 0;
  } catch {
    return true;
  }
}
