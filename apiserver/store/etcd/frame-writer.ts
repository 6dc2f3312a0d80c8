const BYTES = 2;
const PREFIX_BYTES = 5;
const LENGTH_BYTES = 4;

/**
 * Writes one message of protobuf as gRPC sends it, not compressed, in one pass: a message within it begins with room for its length, which is
 * filled in when it ends. A length always takes four bytes, which readers must take too.
 */
export class FrameWriter {
  readonly #bytes: Buffer;
  #at = PREFIX_BYTES;

  /** `mostBytes`: as many as may be written. */
  constructor(mostBytes: number) {
    this.#bytes = Buffer.allocUnsafe(PREFIX_BYTES + mostBytes);
  }

  /** An integer, or a boolean as 0 or 1. */
  number(field: number, value: number): void {
    this.#varint(field << 3);
    if (value >= 0) this.#varint(value);
    else this.#negative(value);
  }

  /** `last` is a byte behind them. */
  bytes(field: number, value: Uint8Array, last?: number): void {
    const began = this.begin(field);
    this.#bytes.set(value, this.#at);
    this.#at += value.length;
    if (last !== undefined) this.#bytes[this.#at++] = last;
    this.end(began);
  }

  /** What is written next is a message in a field, until `end` is told what this answers. */
  begin(field: number): number {
    this.#varint((field << 3) | BYTES);
    this.#at += LENGTH_BYTES;
    return this.#at;
  }

  end(began: number): void {
    let left = this.#at - began;
    for (let i = began - LENGTH_BYTES; i < began; i++) {
      this.#bytes[i] = (left & 127) | (i === began - 1 ? 0 : 128);
      left >>= 7;
    }
  }

  frame(): Buffer {
    if (this.#at > this.#bytes.length) throw new RangeError('a message longer than was said');
    this.#bytes[0] = 0;
    this.#bytes.writeUInt32BE(this.#at - PREFIX_BYTES, 1);
    return this.#bytes.subarray(0, this.#at);
  }

  #varint(value: number): void {
    let left = value;
    for (; left > 127; left = Math.floor(left / 128)) this.#bytes[this.#at++] = (left % 128) | 128;
    this.#bytes[this.#at++] = left;
  }

  /** 2^64 less, in ten bytes. */
  #negative(value: number): void {
    let left = BigInt.asUintN(64, BigInt(value));
    for (; left > 127n; left >>= 7n) this.#bytes[this.#at++] = Number(left & 127n) | 128;
    this.#bytes[this.#at++] = Number(left);
  }
}
