import type { Connections, UnderWay } from './connections.ts';
import type { Eventual } from './eventual.ts';
import type { Outgoing } from './outgoing.ts';
import type { ServerResponse } from './requests/server-request.ts';

/** Large bodies are written in pieces of this size, each of which must be taken in time. */
const PIECE_BYTES = 256 << 10;
/** What fits into a socket's buffer, headers and all. */
const AT_ONCE_BYTES = 48 << 10;
/**
 * The end of a larger body is written alone, once what comes before has gone. A client that has the whole answer sends its next request at once,
 * and Node takes what follows its head for malformed (HPE_PAUSED) if it then still counts the socket's buffer as full.
 */
const LAST_BYTES = 1 << 10;

/** Writes the answer to a request under way; settles once all of it is written, or the connection is gone. A reader that stops reading is ended. */
export function writeResponse(
  { status, headers, body }: ServerResponse,
  entered: UnderWay,
  connections: Connections,
): Eventual<void> {
  const { outgoing } = entered;
  const headOnly = outgoing.req.method === 'HEAD';
  if (body instanceof Uint8Array) {
    outgoing.writeHead(status, linesOf(headers, status === 304 ? undefined : body.length));
    if (headOnly || body.length <= AT_ONCE_BYTES) {
      outgoing.end(headOnly ? undefined : body);
      connections.deliver(entered);
      return;
    }
    return writePieces(cut(body), entered, connections);
  }
  outgoing.writeHead(status, linesOf(headers, undefined));
  outgoing.flushHeaders();
  return writePieces(headOnly ? [] : body, entered, connections);
}

async function writePieces(
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  entered: UnderWay,
  connections: Connections,
): Promise<void> {
  const { outgoing, signal } = entered;
  for await (const piece of pieces) {
    if (signal.aborted) break;
    if (!outgoing.write(piece)) await drained(outgoing, signal, connections);
  }
  outgoing.end();
  connections.deliver(entered);
}

function* cut(body: Uint8Array): Iterable<Uint8Array> {
  const last = body.length - LAST_BYTES;
  for (let at = 0; at < last; at += PIECE_BYTES) yield body.subarray(at, Math.min(at + PIECE_BYTES, last));
  yield body.subarray(last);
}

/** Resolves when what was written has been taken, or the connection is gone. */
function drained(outgoing: Outgoing, signal: AbortSignal, { patience }: Connections): Promise<void> {
  const { clock, stalledMs } = patience;
  return new Promise((resolve) => {
    let stop = () => {};
    const done = () => {
      stop();
      outgoing.removeListener('drain', done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const late = () => {
      // One that waits for the answers before it has nothing to be read yet.
      if (outgoing.socket === null) stop = clock.after(stalledMs, late);
      else outgoing.destroy();
    };
    stop = clock.after(stalledMs, late);
    outgoing.once('drain', done);
    signal.addEventListener('abort', done, { once: true });
    if (signal.aborted) done();
  });
}

/** Names and values in turn, as Node writes them fastest. */
function linesOf(headers: ServerResponse['headers'], length: number | undefined): (string | string[])[] {
  const lines: (string | string[])[] = [];
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined) lines.push(name, typeof value === 'string' ? onWire(value) : value.map(onWire));
  }
  if (length !== undefined) lines.push('content-length', String(length));
  return lines;
}

const BEYOND_ASCII = /[\u0080-\uffff]/;

/** UTF-8 as the bytes that a header carries. */
const onWire = (text: string): string =>
  BEYOND_ASCII.test(text) ? Buffer.from(text, 'utf8').toString('latin1') : text;
