import type { TxnRequest, TxnResult } from '../store.ts';
import { FieldReader } from './field-reader.ts';
import { FrameWriter } from './frame-writer.ts';
import type { Layout } from './layout.ts';
import type { Fence } from './membership.ts';
import { numberIn } from './number-in.ts';
import { type RangeAnswer, readRangeAnswer } from './range-messages.ts';
import type { Revisions } from './revisions.ts';

export const TXN_PATH = '/etcdserverpb.KV/Txn';

/** Numbers of fields and values in etcd's messages. */
const TXN = { compare: 1, success: 2, failure: 3 } as const;
const COMPARE = { result: 1, target: 2, key: 3, createRevision: 5, modRevision: 6 } as const;
const ANSWER = { header: 1, succeeded: 2, operations: 3 } as const;
const EQUAL = 0;
const TARGET = { create: 1, mod: 2 } as const;
const OPERATION = { range: 1, put: 2, deleteRange: 3, txn: 4 } as const;
const KEY = 1;
const VALUE = 2;
const KEYS_ONLY = 8;
/** What a compare with its range, a put or a delete takes at most besides keys and value. */
const MOST_BESIDES = 64;

/**
 * Transactions as they go to etcd: one as it is, several, or any with a fence, as transactions within one that has no condition but the fence. Where a compare
 * of one fails, it asks for all keys it compared, and the others go on. etcd judges every compare before it does any of the writes.
 */
export function encodeTxns(
  requests: readonly TxnRequest[],
  layout: Layout,
  revisions: Revisions,
  fence: Fence | undefined,
): Buffer {
  const [only, ...more] = requests;
  const fenceBytes = fence === undefined ? 0 : fence.key.length + MOST_BESIDES;
  const writer = new FrameWriter(requests.reduce((sum, request) => sum + txnBytes(request, layout), fenceBytes));
  if (fence !== undefined) writeFence(writer, fence);
  if (only !== undefined && more.length === 0 && fence === undefined)
    writeTxn(writer, only, { layout, revisions, behind: 0 });
  else
    for (const [i, request] of requests.entries()) {
      const outer = writer.begin(TXN.success);
      const inner = writer.begin(OPERATION.txn);
      writeTxn(writer, request, { layout, revisions, behind: requests.length - 1 - i });
      writer.end(inner);
      writer.end(outer);
    }
  return writer.frame();
}

/** At most. */
export function txnBytes({ compares, puts, deletes }: TxnRequest, layout: Layout): number {
  let most = MOST_BESIDES;
  const besides = layout.keyBytes + MOST_BESIDES;
  for (const { key } of compares) most += 2 * (key.length + besides);
  for (const { key, value } of puts) most += key.length + value.length + besides;
  for (const key of deletes) most += key.length + besides;
  return most;
}

interface Place {
  readonly layout: Layout;
  readonly revisions: Revisions;
  /** How many transactions are behind it in the same one. */
  readonly behind: number;
}

function writeFence(writer: FrameWriter, { key, createRevision }: Fence): void {
  const compare = writer.begin(TXN.compare);
  writer.number(COMPARE.result, EQUAL);
  writer.number(COMPARE.target, TARGET.create);
  writer.bytes(COMPARE.key, key);
  writer.number(COMPARE.createRevision, createRevision);
  writer.end(compare);
}

function writeTxn(writer: FrameWriter, { compares, puts, deletes }: TxnRequest, place: Place): void {
  const { layout, revisions } = place;
  const compared = compares.map(({ key }) => layout.key(key));
  for (const [i, key] of compared.entries()) {
    const compare = writer.begin(TXN.compare);
    writer.number(COMPARE.result, EQUAL);
    writer.number(COMPARE.target, TARGET.mod);
    writer.bytes(COMPARE.key, key);
    writer.number(COMPARE.modRevision, revisions.compared(compares[i]?.revision ?? 0));
    writer.end(compare);
  }
  const mark = revisions.mark(place.behind);
  for (const { key, value } of puts)
    operation(writer, TXN.success, OPERATION.put, layout.key(key), () => writer.bytes(VALUE, value, mark));
  for (const key of deletes) operation(writer, TXN.success, OPERATION.deleteRange, layout.key(key));
  // Of a value with a mark all is asked for, as the revision is not known without it.
  const less = () => mark === undefined && writer.number(KEYS_ONLY, 1);
  for (const key of compared) operation(writer, TXN.failure, OPERATION.range, key, less);
}

function operation(writer: FrameWriter, when: number, kind: number, key: Buffer, more: () => void = () => {}): void {
  const outer = writer.begin(when);
  const inner = writer.begin(kind);
  writer.bytes(KEY, key);
  more();
  writer.end(inner);
  writer.end(outer);
}

/** What came of transactions, at the store's revision when etcd answered. */
interface TxnResults {
  readonly revision: number;
  readonly results: readonly TxnResult[];
}

/** etcd's answer, a result for each; undefined where the fence failed. Without a change it gives out no revision, and tells the one it is at. */
export function decodeTxns(
  answer: Buffer,
  requests: readonly TxnRequest[],
  revisions: Revisions,
  fence: Fence | undefined,
): TxnResults | undefined {
  const [only, ...more] = requests;
  const whole = readTxn(new FieldReader(answer), revisions);
  const { revision } = whole;
  if (fence !== undefined && !whole.ok) return undefined;
  if (only !== undefined && more.length === 0 && fence === undefined)
    return { revision, results: [resultOf(only, whole, revision)] };
  const results = requests.map((request, i) => {
    const within = whole.within[i];
    if (within === undefined) throw new RangeError('etcd answered fewer transactions than it was sent');
    return resultOf(request, within, revision - (requests.length - 1 - i));
  });
  return { revision, results };
}

interface Answered {
  /** The store's, at the end of etcd's. Of one within another, 0. */
  readonly revision: number;
  readonly ok: boolean;
  /** Of the keys that were asked for, in their order. */
  readonly found: readonly number[];
  readonly within: readonly Answered[];
}

function readTxn(reader: FieldReader, revisions: Revisions): Answered {
  let revision = 0;
  let ok = false;
  const found: number[] = [];
  const within: Answered[] = [];
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === ANSWER.header) revision = revisions.ours(numberIn(reader.message(), [3]));
    else if (field === ANSWER.succeeded) ok = reader.number() === 1;
    else if (field === ANSWER.operations) readOperation(reader.message(), revisions, { found, within });
    else reader.skip();
  }
  return { revision, ok, found, within };
}

function readOperation(
  reader: FieldReader,
  revisions: Revisions,
  { found, within }: { readonly found: number[]; readonly within: Answered[] },
): void {
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === OPERATION.range) found.push(revisionIn(readRangeAnswer(reader.message()), revisions));
    else if (field === OPERATION.txn) within.push(readTxn(reader.message(), revisions));
    else reader.skip();
  }
}

/** When the one key of a range was changed last. */
function revisionIn({ pairs: [pair] }: RangeAnswer, revisions: Revisions): number {
  return pair === undefined ? 0 : revisions.read(pair).revision;
}

function resultOf({ compares }: TxnRequest, { ok, found }: Answered, revision: number): TxnResult {
  if (ok) return { ok, revision };
  return { ok, found: new Map(compares.map(({ key }, i) => [key, found[i] ?? 0])) };
}
