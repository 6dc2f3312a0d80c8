import type { TxnRequest, TxnResult } from '../store.ts';
import { FieldReader } from './field-reader.ts';
import { FrameWriter } from './frame-writer.ts';
import type { Layout, Revisions } from './layout.ts';
import { numberIn } from './number-in.ts';

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
/** What a compare with its range, a put or a delete takes at most besides keys and value. */
const MOST_BESIDES = 64;

/** A transaction as it goes to etcd: where a compare fails, it asks for the revisions of all compared keys. */
export function encodeTxn({ compares, puts, deletes }: TxnRequest, layout: Layout, revisions: Revisions): Buffer {
  const compared = compares.map(({ key }) => layout.key(key));
  const put = puts.map(({ key }) => layout.key(key));
  const deleted = deletes.map((key) => layout.key(key));
  let most = 0;
  for (const { length } of compared) most += 2 * length + MOST_BESIDES;
  for (const { length } of [...put, ...deleted, ...puts.map(({ value }) => value)]) most += length + MOST_BESIDES;
  const writer = new FrameWriter(most);
  for (const [i, key] of compared.entries()) {
    const compare = writer.begin(TXN.compare);
    writer.number(COMPARE.result, EQUAL);
    writer.number(COMPARE.target, MOD);
    writer.bytes(COMPARE.key, key);
    writer.number(COMPARE.modRevision, revisions.compared(compares[i]?.revision ?? 0));
    writer.end(compare);
  }
  for (const [i, key] of put.entries()) {
    const { value = NOTHING } = puts[i] ?? {};
    operation(writer, TXN.success, OPERATION.put, key, () => writer.bytes(VALUE, value));
  }
  for (const key of deleted) operation(writer, TXN.success, OPERATION.deleteRange, key);
  for (const key of compared) operation(writer, TXN.failure, OPERATION.range, key, () => writer.number(KEYS_ONLY, 1));
  return writer.frame();
}

const NOTHING = new Uint8Array();

function operation(writer: FrameWriter, when: number, kind: number, key: Buffer, more: () => void = () => {}): void {
  const outer = writer.begin(when);
  const inner = writer.begin(kind);
  writer.bytes(KEY, key);
  more();
  writer.end(inner);
  writer.end(outer);
}

/** etcd's answer. Without a change it gives out no revision, and tells the one it is at. */
export function decodeTxn(answer: Buffer, { compares }: TxnRequest, revisions: Revisions): TxnResult {
  const reader = new FieldReader(answer);
  let revision = 0;
  let ok = false;
  const found: number[] = [];
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 1) revision = numberIn(reader.message(), [3]);
    else if (field === 2) ok = reader.number() === 1;
    // Of an operation: of its range: of the one key: when it was changed last.
    else if (field === 3) found.push(numberIn(reader.message(), [1, 2, 3]));
    else reader.skip();
  }
  if (ok) return { ok, revision: revisions.ours(revision) };
  return { ok, found: new Map(compares.map(({ key }, i) => [key, revisions.ours(found[i] ?? 0)])) };
}
