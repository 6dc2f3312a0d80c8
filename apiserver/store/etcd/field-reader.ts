const BYTES = 2;
const FIXED64 = 1;
const FIXED32 = 5;

/** Reads the fields of a message of protobuf. What is not asked for is skipped. Throws RangeError for bytes that are no message. */
export class FieldReader {
  readonly #bytes: Buffer;
  readonly #end: number;
  #at: number;
  #type = 0;

  constructor(bytes: Buffer, at = 0, end = bytes.length) {
    this.#bytes = bytes;
    this.#at = at;
    this.#end = end;
  }

  /** The number of the next field, or 0 at the end. Its value must be read, or skipped, before the next. */
  next(): number {
    if (this.#at >= this.#end) return 0;
    const tag = this.number();
    this.#type = tag & 7;
    return tag >>> 3;
  }

  /** An integer that is not negative; one beyond 2^53 is not exact. */
  number(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.#bytes[this.#at++];
      if (byte === undefined || this.#at > this.#end) throw new RangeError('a number that does not end');
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  }

  /** A part of the bytes read from. */
  bytes(): Buffer {
    const [from, to] = this.#span();
    return this.#bytes.subarray(from, to);
  }

  message(): FieldReader {
    const [from, to] = this.#span();
    return new FieldReader(this.#bytes, from, to);
  }

  skip(): void {
    if (this.#type === BYTES) this.#span();
    else if (this.#type === FIXED64) this.#at += 8;
    else if (this.#type === FIXED32) this.#at += 4;
    else this.number();
  }

  #span(): readonly [from: number, to: number] {
    const length = this.number();
    const from = this.#at;
    this.#at = from + length;
    if (this.#at > this.#end) throw new RangeError('a field longer than its message');
    return [from, this.#at];
  }
}
