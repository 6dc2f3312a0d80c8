import type { Readable } from 'node:stream';
import { ApiError } from '../resources/meta/api-error.ts';
import { tooLarge } from './in-process-transport.ts';

/** How much of a body that is too large is read and thrown away, so that the answer still reaches who sends it. */
const DISCARD_BYTES = 64 << 20;

/** The room that the bodies of all requests under way have together. Bodies are read only of callers that are known and may do what they ask. */
export class BodyBudget {
  readonly #maxBytes: number;
  #held = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Bytes held now. */
  get held(): number {
    return this.#held;
  }

  /** The part of one request, given back when it is disposed. */
  share(): BodyShare {
    return new Share(this);
  }

  /** Holds that much more. Throws `TooManyRequests` when there is no room. */
  hold(bytes: number): void {
    if (this.#held + bytes > this.#maxBytes) throw this.#full();
    this.#held += bytes;
  }

  giveBack(bytes: number): void {
    this.#held -= bytes;
  }

  #full(): ApiError {
    const why = `the bodies of the requests under way take ${this.#held} bytes, at most ${this.#maxBytes} are held`;
    return new ApiError('TooManyRequests', `Too many requests: ${why}`, { details: { retryAfterSeconds: 1 } });
  }
}

export interface BodyShare extends Disposable {
  /** Takes that much more. Throws `TooManyRequests` when there is no room, an Error when the request is over. */
  take(bytes: number): void;
}

class Share implements BodyShare {
  readonly #budget: BodyBudget;
  #own = 0;
  #over = false;

  constructor(budget: BodyBudget) {
    this.#budget = budget;
  }

  take(bytes: number): void {
    if (this.#over) throw new Error('the request is over');
    this.#budget.hold(bytes);
    this.#own += bytes;
  }

  [Symbol.dispose](): void {
    this.#budget.giveBack(this.#own);
    this.#own = 0;
    this.#over = true;
  }
}

/**
 * Reads a body, which says that it has `declared` bytes. Throws `RequestEntityTooLarge` beyond `maxBytes` and `TooManyRequests` when all bodies
 * together are too much, and an Error when the connection ends before. By its events, each handled once: an async iterator of one piece costs as much as reading the JSON in it.
 */
export function readBody(
  incoming: Readable,
  declared: number,
  maxBytes: number,
  share: BodyShare,
): Promise<Uint8Array> {
  if (declared > maxBytes) return Promise.reject(discard(incoming, tooLarge(maxBytes)));
  if (incoming.readableEnded) return Promise.resolve(NOTHING);
  return new Promise((resolve, reject) => {
    let body = NOTHING;
    let pieces: Buffer[] | undefined;
    let bytes = 0;
    const refuse = (error: unknown) => {
      incoming.off('data', onData);
      reject(error instanceof ApiError ? discard(incoming, error) : error);
    };
    const onData = (piece: Buffer) => {
      bytes += piece.length;
      try {
        if (bytes > maxBytes) throw tooLarge(maxBytes);
        share.take(piece.length);
      } catch (error) {
        return refuse(error);
      }
      if (bytes === piece.length) body = piece;
      else {
        pieces ??= [body];
        pieces.push(piece);
      }
    };
    const broken = () => reject(new Error('the body ended before it was all there'));
    const onEnd = () => {
      // A stream of HTTP/2 ends when its connection breaks, too.
      if (incoming.destroyed) broken();
      else resolve(pieces === undefined ? body : Buffer.concat(pieces));
    };
    // After the end, or once it was refused, neither of these says anything; an Error that nobody hears of costs as much as a small body.
    const onClose = () => {
      if (!incoming.readableEnded) broken();
    };
    incoming.on('data', onData).on('end', onEnd).on('error', reject).on('close', onClose);
    if (incoming.destroyed) onClose();
  });
}

const NOTHING: Buffer = Buffer.alloc(0);

const discarding = new WeakSet<Readable>();

/** Reads the rest of a body to nowhere, so that whoever sends it comes to read why it is refused. */
function discard(incoming: Readable, why: ApiError): ApiError {
  if (discarding.has(incoming)) return why;
  discarding.add(incoming);
  let left = DISCARD_BYTES;
  incoming.on('data', (piece: Buffer) => {
    left -= piece.length;
    if (left < 0) incoming.destroy();
  });
  return why;
}
