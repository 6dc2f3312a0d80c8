import type { ObjectCodec } from '../cache/object-codec.ts';
import type { Entry } from '../store/store.ts';
import { decodeKept, encodeKept } from './kept-answer.ts';

/** A sealed answer, sealed with the newest key: around it, and the object inside. Throws `UnsealError`. */
export function resealedAnswer(codec: ObjectCodec, { key, value, modRevision }: Entry): Uint8Array {
  const kept = decodeKept(codec.open(key, value));
  const { at, revision = modRevision } = kept;
  return codec.reseal(key, value, encodeKept({ ...kept, revision, stored: codec.reseal(at, kept.stored) }));
}
