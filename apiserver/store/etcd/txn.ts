import { BinaryReader } from '@bufbuild/protobuf/wire';
import type { TxnRequest, TxnResult } from '../store.ts';
import type { Layout, Revisions } from './layout.ts';
import { type Bytes, framed, message, number } from './proto-bytes.ts';

export const TXN_PATH = '/etcdserverpb.KV/Txn';

/** Numbers of fields and values in etcd's messages. */
const TXN = { compare: 1, success: 2, failure: 3 } as const;
const COMPARE = { result: 1, target: 2, key: 3, modRevision: 6 } as const;
const EQUAL = 0;
const MOD = 2;
const OPERATION = { range: 1, put: 2, deleteRange: 3 } as const;
const KEY = 1;
const VALUE = 2;
const KEYS_ONLY = 8;

/** A transaction as it goes to etcd: where a compare fails, it asks for the revisions of all compared keys. */
export function encodeTxn({ compares, puts, deletes }: TxnRequest, layout: Layout, revisions: Revisions): Buffer {
  const parts: Bytes[] = [];
  for (const { key, revision } of compares) {
    const wanted = number(COMPARE.modRevision, revisions.compared(revision));
    const judged = [number(COMPARE.result, EQUAL), number(COMPARE.target, MOD)];
    parts.push(...message(TXN.compare, [...judged, ...message(COMPARE.key, [layout.key(key)]), wanted]));
  }
  for (const { key, value } of puts) {
    const put = [...message(KEY, [layout.key(key)]), ...message(VALUE, [value])];
    parts.push(...message(TXN.success, message(OPERATION.put, put)));
  }
  for (const key of deletes)
    parts.push(...message(TXN.success, message(OPERATION.deleteRange, message(KEY, [layout.key(key)]))));
  for (const { key } of compares) {
    const range = [...message(KEY, [layout.key(key)]), number(KEYS_ONLY, 1)];
    parts.push(...message(TXN.failure, message(OPERATION.range, range)));
  }
  return framed(parts);
}

/** etcd's answer. Without a change it gives out no revision, and tells the one it is at. */
export function decodeTxn(bytes: Uint8Array, { compares }: TxnRequest, revisions: Revisions): TxnResult {
  const reader = new BinaryReader(bytes);
  let revision = '0';
  let ok = false;
  const found: string[] = [];
  each(reader, reader.len, (field) => {
    if (field === 1) revision = last(reader, [], 3);
    else if (field === 2) ok = reader.bool();
    // The range of an operation's answer, its only key, when that was changed last.
    else if (field === 3) found.push(last(reader, [1, 2], 3));
    else return false;
    return true;
  });
  if (ok) return { ok, revision: revisions.ours(revision) };
  return { ok, found: new Map(compares.map(({ key }, i) => [key, revisions.ours(found[i] ?? '0')])) };
}

/** The number in a field, down a path of messages, of the message that begins here; '0' where it is not there. */
function last(reader: BinaryReader, path: readonly number[], wanted: number): string {
  const [next, ...rest] = path;
  let value = '0';
  each(reader, reader.uint32() + reader.pos, (field) => {
    if (next === undefined && field === wanted) value = String(reader.int64());
    else if (next !== undefined && field === next) value = last(reader, rest, wanted);
    else return false;
    return true;
  });
  return value;
}

/** Every field up to an end. What is not taken is skipped. */
function each(reader: BinaryReader, end: number, take: (field: number) => boolean): void {
  while (reader.pos < end) {
    const [field, type] = reader.tag();
    if (!take(field)) reader.skip(type, field);
  }
}
