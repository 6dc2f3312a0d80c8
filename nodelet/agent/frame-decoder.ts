import { AgentFrame, type Frame, MARKER, MAX_PAYLOAD, ProtocolError } from './protocol.ts';

const HEADER_BYTES = 9;
/** More than the agent can have queued and half sent to an earlier host would fit; it only bounds how much is kept while searching. */
const SEARCH_BYTES = HEADER_BYTES + MARKER.length + 64;

/**
 * Turns the agent's bytes into frames. It starts out lost, as the bytes may begin in the middle of what an earlier host was told: until the answer
 * to this session's HELLO (marker and `nonce`) comes, everything is dropped. Keeps at most one frame and the chunk it was given.
 */
export class FrameDecoder {
  readonly #sought: Buffer;
  #found = false;
  #pieces: Uint8Array[] = [];
  #have = 0;

  constructor(nonce: Uint8Array) {
    this.#sought = Buffer.concat([MARKER, nonce]);
  }

  /** Frames completed by `chunk`; payloads are views. Throws `ProtocolError` at nonsense, after which it must not be used again. */
  *push(chunk: Uint8Array): Generator<Frame> {
    if (chunk.length === 0) return;
    this.#pieces.push(chunk);
    this.#have += chunk.length;
    if (!this.#found && !this.#search()) return;
    for (;;) {
      const frame = this.#next();
      if (frame === undefined) return;
      yield frame;
    }
  }

  /** Looks for the answer to HELLO; its frame's header stands right before the marker. */
  #search(): boolean {
    const bytes = this.#join();
    const at = bytes.indexOf(this.#sought, HEADER_BYTES);
    if (at >= HEADER_BYTES && bytes[at - HEADER_BYTES + 4] === AgentFrame.HELLO) {
      this.#found = true;
      this.#replace(bytes.subarray(at - HEADER_BYTES));
      return true;
    }
    // A copy, so that a large chunk is not held for its last bytes.
    this.#replace(Uint8Array.from(bytes.subarray(Math.max(0, bytes.length - SEARCH_BYTES))));
    return false;
  }

  #next(): Frame | undefined {
    if (this.#have < HEADER_BYTES) return undefined;
    const first = this.#pieces[0];
    // Joined only when a frame's header or body is whole: a frame in many small pieces is not copied once a piece.
    const head =
      first !== undefined && first.length >= HEADER_BYTES
        ? Buffer.from(first.buffer, first.byteOffset, first.byteLength)
        : this.#join();
    const length = head.readUInt32BE(0);
    if (length < 5 || length > MAX_PAYLOAD + 5) throw new ProtocolError(`the agent sent a frame of length ${length}`);
    if (this.#have < 4 + length) return undefined;
    const bytes = this.#join();
    this.#replace(bytes.subarray(4 + length));
    return {
      type: bytes.readUInt8(4),
      channel: bytes.readUInt32BE(5),
      payload: bytes.subarray(HEADER_BYTES, 4 + length),
    };
  }

  #join(): Buffer {
    const only = this.#pieces.length === 1 ? this.#pieces[0] : undefined;
    const bytes =
      only === undefined ? Buffer.concat(this.#pieces) : Buffer.from(only.buffer, only.byteOffset, only.byteLength);
    this.#pieces = [bytes];
    return bytes;
  }

  #replace(bytes: Uint8Array): void {
    this.#pieces = bytes.length === 0 ? [] : [bytes];
    this.#have = bytes.length;
  }
}
