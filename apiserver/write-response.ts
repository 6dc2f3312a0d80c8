import type { ServerResponse as NodeResponse } from 'node:http';
import type { Clock } from '../resources/ambient/clock.ts';
import type { ServerResponse } from './requests/server-request.ts';

/** Large bodies are written in pieces of this size, each of which must be taken in time. */
const PIECE_BYTES = 256 << 10;

export interface WriteOptions {
  readonly headOnly: boolean;
  readonly clock: Clock;
  /** How long a reader may take none of what was written, in milliseconds, before its connection is ended. */
  readonly stalledMs: number;
  /** Aborts when the answer cannot be delivered any longer. */
  readonly signal: AbortSignal;
}

/** Writes a response; resolves once it is on its way or the connection is gone. A reader that stops reading is ended. */
export async function writeResponse(
  { status, headers, body }: ServerResponse,
  outgoing: NodeResponse,
  options: WriteOptions,
): Promise<void> {
  if (body instanceof Uint8Array) {
    outgoing.writeHead(status, { ...asNode(headers), ...(status === 304 ? {} : { 'content-length': body.length }) });
    if (options.headOnly || body.length <= PIECE_BYTES)
      return end(outgoing, options, options.headOnly ? undefined : body);
    return writePieces(cut(body), outgoing, options);
  }
  outgoing.writeHead(status, asNode(headers));
  outgoing.flushHeaders();
  return writePieces(options.headOnly ? [] : body, outgoing, options);
}

async function writePieces(
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  outgoing: NodeResponse,
  options: WriteOptions,
): Promise<void> {
  for await (const piece of pieces) {
    if (options.signal.aborted) break;
    if (!outgoing.write(piece)) await taken(outgoing, 'drain', options);
  }
  return end(outgoing, options);
}

async function end(outgoing: NodeResponse, options: WriteOptions, last?: Uint8Array): Promise<void> {
  outgoing.end(last);
  if (!outgoing.writableFinished) await taken(outgoing, 'finish', options);
}

function* cut(body: Uint8Array): Iterable<Uint8Array> {
  for (let at = 0; at < body.length; at += PIECE_BYTES) yield body.subarray(at, at + PIECE_BYTES);
}

/** Resolves when what was written has been taken, or the connection is gone. */
function taken(outgoing: NodeResponse, event: 'drain' | 'finish', options: WriteOptions): Promise<void> {
  const { clock, stalledMs, signal } = options;
  return new Promise((resolve) => {
    let stop = () => {};
    const done = () => {
      stop();
      outgoing.removeListener(event, done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const late = () => {
      // One that waits for the answers before it has nothing to be read yet.
      if (outgoing.socket === null) stop = clock.after(stalledMs, late);
      else outgoing.destroy();
    };
    stop = clock.after(stalledMs, late);
    outgoing.once(event, done);
    signal.addEventListener('abort', done, { once: true });
    if (signal.aborted) done();
  });
}

function asNode(headers: ServerResponse['headers']): Record<string, string | string[]> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      typeof value === 'string' ? onWire(value) : value.map(onWire),
    ]),
  );
}

/** UTF-8 as the bytes that a header carries. */
const onWire = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');
