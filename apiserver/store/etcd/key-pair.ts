import type { FieldReader } from './field-reader.ts';

/** A key as etcd tells of it. Revisions are etcd's; a key that is gone was created at 0. */
export interface KeyPair {
  readonly key: Buffer;
  readonly value: Buffer;
  readonly createRevision: number;
  readonly modRevision: number;
}

const EMPTY: Buffer = Buffer.alloc(0);

export const NO_PAIR: KeyPair = { key: EMPTY, value: EMPTY, createRevision: 0, modRevision: 0 };

export function readPair(reader: FieldReader): KeyPair {
  let { key, value, createRevision, modRevision } = NO_PAIR;
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 1) key = reader.bytes();
    else if (field === 2) createRevision = reader.number();
    else if (field === 3) modRevision = reader.number();
    else if (field === 5) value = reader.bytes();
    else reader.skip();
  }
  return { key, value, createRevision, modRevision };
}
