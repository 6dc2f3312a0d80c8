import { FieldReader } from './field-reader.ts';
import { FrameWriter } from './frame-writer.ts';
import type { KeySpan } from './layout.ts';
import { numberIn } from './number-in.ts';
import {
  type RangeAnswer,
  type RangeRequest,
  rangeBytes,
  readRangeAnswer,
  writeKeys,
  writeRange,
} from './range-messages.ts';
import { TXN_PATH } from './txn.ts';

export const CHOICE_PATH: string = TXN_PATH;

/** What a key must be, or that there is none there, for what is to be done then. Revisions are etcd's. */
export type Condition =
  | { readonly absent: KeySpan | Buffer }
  | { readonly key: Buffer; readonly modRevision: number }
  | { readonly key: Buffer; readonly createRevision: number };

export type Step =
  | { readonly range: RangeRequest }
  /** With a lease, the key ends with that. */
  | { readonly put: { readonly key: Buffer; readonly value: Uint8Array; readonly lease?: number } }
  | { readonly remove: KeySpan | Buffer };

/** A transaction about the store's own keys: one thing or another. */
export interface Choice {
  /** All of them; none are always met. */
  readonly when: readonly Condition[];
  readonly whenMet: readonly Step[];
  readonly otherwise: readonly Step[];
}

export interface Chosen {
  /** etcd's, after it. */
  readonly revision: number;
  /** Whether the conditions were met. */
  readonly met: boolean;
  /** An answer for each step; of those that were no range it has no pairs. */
  readonly answers: readonly RangeAnswer[];
}

const TXN = { compare: 1, success: 2, failure: 3 } as const;
const COMPARE = { result: 1, target: 2, key: 3, createRevision: 5, modRevision: 6, rangeEnd: 64 } as const;
const EQUAL = 0;
const TARGET = { create: 1, mod: 2 } as const;
const STEP = { range: 1, put: 2, remove: 3 } as const;
const PUT = { key: 1, value: 2, lease: 3 } as const;
const MOST_BESIDES = 128;

export function encodeChoice({ when, whenMet, otherwise }: Choice): Buffer {
  const steps = [...whenMet, ...otherwise];
  const most = [...steps.map(stepBytes), ...when.map(conditionBytes)].reduce((sum, bytes) => sum + bytes, 0);
  const writer = new FrameWriter(most);
  for (const condition of when) writeCondition(writer, condition);
  for (const step of whenMet) writeStep(writer, TXN.success, step);
  for (const step of otherwise) writeStep(writer, TXN.failure, step);
  return writer.frame();
}

function writeCondition(writer: FrameWriter, condition: Condition): void {
  const compare = writer.begin(TXN.compare);
  writer.number(COMPARE.result, EQUAL);
  if ('modRevision' in condition) {
    writer.number(COMPARE.target, TARGET.mod);
    writer.bytes(COMPARE.key, condition.key);
    writer.number(COMPARE.modRevision, condition.modRevision);
  } else {
    const keys = 'absent' in condition ? condition.absent : condition.key;
    writer.number(COMPARE.target, TARGET.create);
    writer.bytes(COMPARE.key, Buffer.isBuffer(keys) ? keys : keys.key);
    writer.number(COMPARE.createRevision, 'absent' in condition ? 0 : condition.createRevision);
    if (!Buffer.isBuffer(keys)) writer.bytes(COMPARE.rangeEnd, keys.range_end);
  }
  writer.end(compare);
}

function writeStep(writer: FrameWriter, when: number, step: Step): void {
  const outer = writer.begin(when);
  const inner = writer.begin('range' in step ? STEP.range : 'put' in step ? STEP.put : STEP.remove);
  if ('range' in step) writeRange(writer, step.range);
  else if ('put' in step) {
    writer.bytes(PUT.key, step.put.key);
    writer.bytes(PUT.value, step.put.value);
    if (step.put.lease !== undefined) writer.number(PUT.lease, step.put.lease);
  } else writeKeys(writer, step.remove);
  writer.end(inner);
  writer.end(outer);
}

function stepBytes(step: Step): number {
  if ('range' in step) return rangeBytes(step.range) + MOST_BESIDES;
  if ('put' in step) return step.put.key.length + step.put.value.length + MOST_BESIDES;
  return MOST_BESIDES + keyBytes(step.remove);
}

function conditionBytes(condition: Condition): number {
  return MOST_BESIDES + keyBytes('absent' in condition ? condition.absent : condition.key);
}

const keyBytes = (keys: KeySpan | Buffer): number =>
  Buffer.isBuffer(keys) ? keys.length : keys.key.length + keys.range_end.length;

export function decodeChoice(answer: Buffer): Chosen {
  const reader = new FieldReader(answer);
  let revision = 0;
  let met = false;
  const answers: RangeAnswer[] = [];
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 1) revision = numberIn(reader.message(), [3]);
    else if (field === 2) met = reader.number() === 1;
    else if (field === 3) answers.push(stepAnswer(reader.message()));
    else reader.skip();
  }
  return { revision, met, answers };
}

function stepAnswer(reader: FieldReader): RangeAnswer {
  let found: RangeAnswer = { revision: 0, pairs: [], count: 0 };
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === STEP.range) found = readRangeAnswer(reader.message());
    else reader.skip();
  }
  return found;
}
