import { FieldReader } from './field-reader.ts';
import { FrameWriter } from './frame-writer.ts';
import { type KeyPair, readPair } from './key-pair.ts';
import type { KeySpan } from './layout.ts';
import { numberIn } from './number-in.ts';

export const RANGE_PATH = '/etcdserverpb.KV/Range';

/** Which keys, of which revision of etcd's, and what of them. */
export interface RangeRequest {
  readonly keys: KeySpan | Buffer;
  /** Absent: the newest. */
  readonly revision?: number;
  /** Absent: all. */
  readonly limit?: number;
  /** How many there are, and nothing else. */
  readonly countOnly?: boolean;
  readonly keysOnly?: boolean;
  /** Only those changed there or later. */
  readonly changedFrom?: number;
}

export interface RangeAnswer {
  /** etcd's, when it answered. */
  readonly revision: number;
  readonly pairs: readonly KeyPair[];
  /** How many there are, also beyond a limit. */
  readonly count: number;
}

const RANGE = { key: 1, rangeEnd: 2, limit: 3, revision: 4, keysOnly: 8, countOnly: 9, minModRevision: 10 } as const;
/** What a request takes at most besides keys. */
const MOST_BESIDES = 64;

export const rangeBytes = ({ keys }: RangeRequest): number =>
  MOST_BESIDES + (Buffer.isBuffer(keys) ? keys.length : keys.key.length + keys.range_end.length);

export function encodeRange(request: RangeRequest): Buffer {
  const writer = new FrameWriter(rangeBytes(request));
  writeRange(writer, request);
  return writer.frame();
}

export function writeRange(writer: FrameWriter, request: RangeRequest): void {
  const { keys, limit = 0, revision = 0, keysOnly = false, countOnly = false, changedFrom = 0 } = request;
  writeKeys(writer, keys);
  if (limit > 0) writer.number(RANGE.limit, limit);
  if (revision > 0) writer.number(RANGE.revision, revision);
  if (keysOnly) writer.number(RANGE.keysOnly, 1);
  if (countOnly) writer.number(RANGE.countOnly, 1);
  if (changedFrom > 0) writer.number(RANGE.minModRevision, changedFrom);
}

/** One key, or a span of them, as ranges and deletions begin. */
export function writeKeys(writer: FrameWriter, keys: KeySpan | Buffer): void {
  writer.bytes(RANGE.key, Buffer.isBuffer(keys) ? keys : keys.key);
  if (!Buffer.isBuffer(keys)) writer.bytes(RANGE.rangeEnd, keys.range_end);
}

export const decodeRange = (answer: Buffer): RangeAnswer => readRangeAnswer(new FieldReader(answer));

export function readRangeAnswer(reader: FieldReader): RangeAnswer {
  let revision = 0;
  let count = 0;
  const pairs: KeyPair[] = [];
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 1) revision = numberIn(reader.message(), [3]);
    else if (field === 2) pairs.push(readPair(reader.message()));
    else if (field === 4) count = reader.number();
    else reader.skip();
  }
  return { revision, pairs, count };
}
