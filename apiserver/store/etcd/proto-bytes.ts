/** Bytes of protobuf, not yet joined. Written by hand and joined once, as values are long and messages are nested four deep. */
export type Bytes = Uint8Array;

const BYTES = 2;
const FRAME_PREFIX = 5;

/** A number field: an integer, a boolean as 0 or 1. */
export function number(field: number, value: number): Bytes {
  return Uint8Array.from([...varint(field << 3), ...varint(value)]);
}

/** A field of so many bytes: text, or a message of fields. */
export function message(field: number, parts: readonly Bytes[]): Bytes[] {
  let length = 0;
  for (const part of parts) length += part.length;
  return [Uint8Array.from([...varint((field << 3) | BYTES), ...varint(length)]), ...parts];
}

/** A whole message as gRPC sends it: not compressed, its length, itself. */
export function framed(parts: readonly Bytes[]): Buffer {
  const prefix = Buffer.alloc(FRAME_PREFIX);
  const frame = Buffer.concat([prefix, ...parts]);
  frame.writeUInt32BE(frame.length - FRAME_PREFIX, 1);
  return frame;
}

/** Seven bits a byte, the low ones first. A negative number is 2^64 less. */
function varint(value: number): number[] {
  if (value < 0) return bigVarint(BigInt.asUintN(64, BigInt(value)));
  const bytes: number[] = [];
  let left = value;
  for (; left > 127; left = Math.floor(left / 128)) bytes.push((left % 128) | 128);
  bytes.push(left);
  return bytes;
}

function bigVarint(value: bigint): number[] {
  const bytes: number[] = [];
  let left = value;
  for (; left > 127n; left >>= 7n) bytes.push(Number(left & 127n) | 128);
  bytes.push(Number(left));
  return bytes;
}
