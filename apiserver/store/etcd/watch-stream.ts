import { type ClientHttp2Stream, constants, type IncomingHttpHeaders } from 'node:http2';
import { EtcdCallError } from './call-error.ts';
import { failureIn, HEADERS, hearStatus, listenForLife, openSession, type SessionOptions } from './open-session.ts';
import { decodeWatch, WATCH_PATH, type WatchAnswer } from './watch-messages.ts';

/** What etcd may send ahead of the reader. */
const WINDOW_BYTES = 1 << 20;
const PREFIX_BYTES = 5;

interface WatchCall {
  /** The first message, prefix and all. */
  readonly frame: Buffer;
  readonly metadata: Readonly<Record<string, string>>;
}

/**
 * What a member tells of a watch, over a session of its own and at its reader's pace: one that is slow holds up nobody else. Ends when the signal aborts;
 * throws EtcdCallError when the member ends it, or gives no sign of life.
 */
export async function* watchStream(
  options: SessionOptions,
  { frame, metadata }: WatchCall,
  signal: AbortSignal,
): AsyncGenerator<WatchAnswer> {
  const { session, opened } = openSession(options, WINDOW_BYTES);
  const cancel = () => session.destroy();
  signal.addEventListener('abort', cancel, { once: true });
  try {
    if (signal.aborted) return;
    await opened;
    listenForLife(session, options.clock, () => !session.destroyed);
    // Of several members one may have lost the others: without a leader it ends the watch.
    const stream = session.request({ ...HEADERS, ':path': WATCH_PATH, hasleader: 'true', ...metadata });
    stream.write(frame);
    yield* answersOf(stream);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    signal.removeEventListener('abort', cancel);
    session.destroy();
  }
}

async function* answersOf(stream: ClientHttp2Stream): AsyncGenerator<WatchAnswer> {
  let said: IncomingHttpHeaders | undefined;
  hearStatus(stream, (headers) => {
    said = headers;
  });
  // Whoever reads it hears of it too; what comes after the reader has left is nobody's concern.
  stream.on('error', () => {});
  const messages = new Messages();
  try {
    for await (const piece of stream as AsyncIterable<Buffer>) {
      for (const message of messages.take(piece)) yield decodeWatch(message);
    }
  } catch (cause) {
    if (said === undefined) throw new EtcdCallError('Unclear', 'the connection of the watch broke', { cause });
  } finally {
    stream.close(constants.NGHTTP2_CANCEL);
  }
  throw (said && failureIn(said)) ?? new EtcdCallError('Unclear', 'etcd ended the watch');
}

/** Messages out of the pieces they come in. */
class Messages {
  #pieces: Buffer[] = [];
  #bytes = 0;
  /** How many bytes there must be before there is another message. */
  #wanted = PREFIX_BYTES;

  *take(piece: Buffer): Iterable<Buffer> {
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    if (this.#bytes < this.#wanted) return;
    let rest = this.#pieces.length === 1 ? piece : Buffer.concat(this.#pieces);
    for (let end = endOf(rest); end <= rest.length; end = endOf(rest)) {
      yield rest.subarray(PREFIX_BYTES, end);
      rest = rest.subarray(end);
    }
    this.#pieces = rest.length === 0 ? [] : [rest];
    this.#bytes = rest.length;
    this.#wanted = endOf(rest);
  }
}

/** Where the first message ends, as far as that is known. */
const endOf = (bytes: Buffer): number =>
  bytes.length < PREFIX_BYTES ? PREFIX_BYTES : PREFIX_BYTES + bytes.readUInt32BE(1);
