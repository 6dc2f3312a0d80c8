import { STORE_LIMITS, StoreError, type TxnRequest } from './store.ts';

const PRINTABLE_ASCII = /^[\x20-\x7e]+$/;

/**
 * Refuses what no store takes: `TooLarge` for what a user's big object can cause, TypeError for what only a wrong caller can
 * (a key that is not printable ASCII, a key written twice).
 */
export function checkTxn(request: TxnRequest): void {
  const writes = request.puts.length + request.deletes.length;
  const operations = Math.max(request.compares.length, writes);
  if (operations > STORE_LIMITS.txnOperations) {
    throw new StoreError(
      'TooLarge',
      `the transaction has ${operations} operations; at most ${STORE_LIMITS.txnOperations} are taken`,
    );
  }
  let bytes = 0;
  const written = new Set<string>();
  for (const { key, value } of request.puts) {
    checkWritten(key, written);
    bytes += value.byteLength;
  }
  for (const key of request.deletes) checkWritten(key, written);
  if (bytes > STORE_LIMITS.valueBytes) {
    throw new StoreError(
      'TooLarge',
      `the transaction holds ${bytes} bytes of values; at most ${STORE_LIMITS.valueBytes} are taken`,
    );
  }
}

function checkWritten(key: string, written: Set<string>): void {
  if (!PRINTABLE_ASCII.test(key)) throw new TypeError(`store key ${JSON.stringify(key)} is not printable ASCII`);
  if (written.has(key)) throw new TypeError(`store key ${key} is written twice in one transaction`);
  written.add(key);
}
