import type { ObjectCodec } from '../cache/object-codec.ts';
import { decodeKept, encodeKept } from './kept-answer.ts';

/** A sealed answer, sealed with the newest key: around it, and the object inside. Throws `UnsealError`. */
export function resealedAnswer(codec: ObjectCodec, key: string, value: Uint8Array): Uint8Array {
  const kept = decodeKept(codec.open(key, value));
  return codec.reseal(key, value, encodeKept({ ...kept, stored: codec.reseal(kept.at, kept.stored) }));
}
