const MAGIC = 0x184c2102;
const MAX_BLOCK = 8 << 20;

/**
 * Decompresses LZ4's legacy frame format, which the kernel build uses: a magic number, then blocks of (u32 length, LZ4 block), each of at most
 * 8 MiB unpacked. Throws at damaged input, and when the result would be over `limit` bytes.
 */
export function decompressLz4Legacy(bytes: Uint8Array, limit: number): Uint8Array {
  const input = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (input.length < 4 || input.readUInt32LE(0) !== MAGIC) throw new Error('not in LZ4 legacy format');
  const blocks: Uint8Array[] = [];
  let total = 0;
  let at = 4;
  while (at + 4 <= input.length) {
    const length = input.readUInt32LE(at);
    at += 4;
    if (length === MAGIC) continue; // frames may follow each other
    if (length === 0 || at + length > input.length)
      throw new Error(`damaged LZ4 data: a block of ${length} bytes at ${at}`);
    const block = decompressBlock(input.subarray(at, at + length));
    blocks.push(block);
    at += length;
    total += block.length;
    if (total > limit) throw new Error(`LZ4 data unpacks to more than ${limit} bytes`);
  }
  return Buffer.concat(blocks);
}

/** A block is a run of sequences: literals to take as they are, then a match to copy from what has been written. */
function decompressBlock(source: Uint8Array): Uint8Array {
  const target = Buffer.allocUnsafe(MAX_BLOCK);
  const cursor = { at: 0 };
  let out = 0;
  while (cursor.at < source.length) {
    const token = next(source, cursor);
    const literals = runLength(token >> 4, source, cursor);
    if (cursor.at + literals > source.length || out + literals > MAX_BLOCK)
      throw new Error('damaged LZ4 data: literals out of bounds');
    target.set(source.subarray(cursor.at, cursor.at + literals), out);
    cursor.at += literals;
    out += literals;
    if (cursor.at === source.length) break; // the last sequence has no match
    const distance = next(source, cursor) | (next(source, cursor) << 8);
    const length = runLength(token & 15, source, cursor) + 4;
    if (distance === 0 || distance > out || out + length > MAX_BLOCK)
      throw new Error('damaged LZ4 data: a match out of bounds');
    copyMatch(target, out, distance, length);
    out += length;
  }
  return Uint8Array.from(target.subarray(0, out));
}

function next(source: Uint8Array, cursor: { at: number }): number {
  const byte = source[cursor.at++];
  if (byte === undefined) throw new Error('damaged LZ4 data: it ends too early');
  return byte;
}

/** 15 says that more follows: bytes are added up to and including the first that is not 255. */
function runLength(nibble: number, source: Uint8Array, cursor: { at: number }): number {
  if (nibble < 15) return nibble;
  let length = nibble;
  for (;;) {
    const byte = next(source, cursor);
    length += byte;
    if (byte !== 255) return length;
  }
}

/** A match may reach into what it writes itself: then it repeats, and must be copied in order. */
function copyMatch(target: Buffer, out: number, distance: number, length: number): void {
  if (distance >= length) {
    target.copyWithin(out, out - distance, out - distance + length);
    return;
  }
  for (let i = 0; i < length; i++) target[out + i] = target[out + i - distance] ?? 0;
}
