import type { ITxnRequest, ITxnResponse } from 'etcd3/lib/rpc.js';
import type { TxnRequest, TxnResult } from '../store.ts';
import type { Layout, Revisions } from './layout.ts';

/** A transaction as etcd takes it: where a compare fails, it asks for the revisions of all compared keys. */
export function txnRequest({ compares, puts, deletes }: TxnRequest, layout: Layout, revisions: Revisions): ITxnRequest {
  return {
    compare: compares.map(({ key, revision }) => ({
      key: layout.key(key),
      target: 'Mod',
      result: 'Equal',
      mod_revision: revisions.compared(revision),
    })),
    success: [
      ...puts.map(({ key, value }) => ({ request_put: { key: layout.key(key), value: bufferOf(value) } })),
      ...deletes.map((key) => ({ request_delete_range: { key: layout.key(key) } })),
    ],
    failure: compares.map(({ key }) => ({ request_range: { key: layout.key(key), keys_only: true } })),
  };
}

/** etcd's answer. Without a change it gives out no revision, and tells the one it is at. */
export function txnResult(answer: ITxnResponse, { compares }: TxnRequest, revisions: Revisions): TxnResult {
  if (answer.succeeded) return { ok: true, revision: revisions.ours(answer.header.revision) };
  const found = compares.map(({ key }, i) => {
    const [kv] = answer.responses[i]?.response_range.kvs ?? [];
    return [key, kv === undefined ? 0 : revisions.ours(kv.mod_revision)] as const;
  });
  return { ok: false, found: new Map(found) };
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
