import { FieldReader } from './field-reader.ts';
import { FrameWriter } from './frame-writer.ts';
import { numberIn } from './number-in.ts';

export const RANGE_PATH = '/etcdserverpb.KV/Range';

const RANGE = { key: 1, countOnly: 9 } as const;
const MOST_BESIDES = 64;

/** The cheapest question whose answer is as old as the question at most: how often a key is there. */
export function encodeQuestion(key: Buffer): Buffer {
  const writer = new FrameWriter(key.length + MOST_BESIDES);
  writer.bytes(RANGE.key, key);
  writer.number(RANGE.countOnly, 1);
  return writer.frame();
}

/** The revision of etcd that an answer to it is true at. */
export function revisionIn(answer: Buffer): number {
  // Of its header.
  return numberIn(new FieldReader(answer), [1, 3]);
}
