import type { IncomingMessage } from 'node:http';
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
    let own = 0;
    let over = false;
    return {
      take: (bytes) => {
        if (over) throw new Error('the request is over');
        if (this.#held + bytes > this.#maxBytes) throw this.#full();
        this.#held += bytes;
        own += bytes;
      },
      [Symbol.dispose]: () => {
        this.#held -= own;
        own = 0;
        over = true;
      },
    };
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

/** Reads a body. Throws `RequestEntityTooLarge` beyond `maxBytes` and `TooManyRequests` when all bodies together are too much. */
export async function readBody(
  incoming: IncomingMessage,
  maxBytes: number,
  share: BodyShare,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const declared = Number(incoming.headers['content-length'] ?? 0);
  if (declared > maxBytes) throw discard(incoming, tooLarge(maxBytes));
  const stop = () => incoming.destroy();
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    const pieces = await piecesOf(incoming, maxBytes, share);
    return pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces);
  } catch (error) {
    throw error instanceof ApiError ? discard(incoming, error) : error;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** All that comes. By its events: an async iterator of one piece costs as much as reading the JSON in it. */
function piecesOf(incoming: IncomingMessage, maxBytes: number, share: BodyShare): Promise<readonly Buffer[]> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let bytes = 0;
    const over = (settle: () => void) => {
      incoming.off('data', onData).off('end', onEnd).off('error', onError).off('close', onClose);
      settle();
    };
    const onData = (piece: Buffer) => {
      bytes += piece.length;
      try {
        if (bytes > maxBytes) throw tooLarge(maxBytes);
        share.take(piece.length);
        pieces.push(piece);
      } catch (error) {
        over(() => reject(error));
      }
    };
    const onEnd = () => over(() => resolve(pieces));
    const onError = (error: Error) => over(() => reject(error));
    const onClose = () => over(() => reject(new Error('the body ended before it was all there')));
    if (incoming.readableEnded) return resolve(pieces);
    incoming.on('data', onData).once('end', onEnd).once('error', onError).once('close', onClose);
    if (incoming.destroyed) onClose();
  });
}

const discarding = new WeakSet<IncomingMessage>();

/** Reads the rest of a body to nowhere, so that whoever sends it comes to read why it is refused. */
function discard(incoming: IncomingMessage, why: ApiError): ApiError {
  if (discarding.has(incoming)) return why;
  discarding.add(incoming);
  let left = DISCARD_BYTES;
  incoming.on('data', (piece: Buffer) => {
    left -= piece.length;
    if (left < 0) incoming.destroy();
  });
  return why;
}
