import { FieldReader } from './field-reader.ts';
import { FrameWriter } from './frame-writer.ts';
import { type KeyPair, NO_PAIR, readPair } from './key-pair.ts';
import type { KeySpan } from './layout.ts';

export const WATCH_PATH = '/etcdserverpb.Watch/Watch';

export interface WatchedSpan extends KeySpan {
  /** etcd's. */
  readonly startRevision: number;
}

/** What etcd says on a watch, without what nobody asks for. Revisions are etcd's. */
export interface WatchAnswer {
  readonly canceled: boolean;
  readonly compactRevision: number;
  readonly cancelReason: string;
  /** The next answer goes on with the same transaction. */
  readonly fragment: boolean;
  readonly events: readonly KeyEvent[];
}

export interface KeyEvent extends KeyPair {
  readonly deleted: boolean;
}

const CREATE = 1;
const SPAN = { key: 1, rangeEnd: 2, startRevision: 3, fragment: 8 } as const;
const MOST_BESIDES = 64;

/** Asks for all changes of a span, in pieces where a transaction is large: a message with its prefix. */
export function encodeWatch({ key, range_end, startRevision }: WatchedSpan): Buffer {
  const writer = new FrameWriter(key.length + range_end.length + MOST_BESIDES);
  const create = writer.begin(CREATE);
  writer.bytes(SPAN.key, key);
  writer.bytes(SPAN.rangeEnd, range_end);
  writer.number(SPAN.startRevision, startRevision);
  writer.number(SPAN.fragment, 1);
  writer.end(create);
  return writer.frame();
}

export function decodeWatch(bytes: Buffer): WatchAnswer {
  const reader = new FieldReader(bytes);
  let canceled = false;
  let compactRevision = 0;
  let cancelReason = '';
  let fragment = false;
  const events: KeyEvent[] = [];
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 4) canceled = reader.number() === 1;
    else if (field === 5) compactRevision = reader.number();
    else if (field === 6) cancelReason = reader.bytes().toString();
    else if (field === 7) fragment = reader.number() === 1;
    else if (field === 11) events.push(readEvent(reader.message()));
    else reader.skip();
  }
  return { canceled, compactRevision, cancelReason, fragment, events };
}

const DELETE = 1;

function readEvent(reader: FieldReader): KeyEvent {
  let deleted = false;
  let pair = NO_PAIR;
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 1) deleted = reader.number() === DELETE;
    else if (field === 2) pair = readPair(reader.message());
    else reader.skip();
  }
  return { deleted, ...pair };
}
