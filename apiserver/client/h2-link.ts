import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect as connectHttp2,
  constants,
  type IncomingHttpHeaders,
  type IncomingHttpStatusHeader,
  type OutgoingHttpHeaders,
} from 'node:http2';
import { isIP } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { H2_PROTOCOL } from './h2-protocol.ts';
import { type Connection, PROBE_AFTER_MS, tlsOptions, unreachable, urlOf } from './https-transport.ts';
import type { ApiRequest, ApiResponse } from './transport.ts';
import type { UnreachableError } from './unreachable-error.ts';

const { NGHTTP2_CANCEL, NGHTTP2_NO_ERROR, NGHTTP2_REFUSED_STREAM } = constants;

/** What may come of one answer before it is read, and of all of them before the server waits for us to have taken it. */
const ANSWER_WINDOW_BYTES = 256 << 10;
const WINDOW_BYTES = 1 << 20;

/** In milliseconds. */
export interface Patience {
  /** For TCP and TLS to be there. */
  readonly connectTimeoutMs: number;
  /** For the head of an answer to come. */
  readonly answerTimeoutMs: number;
}

/** A request that was not answered. `old`: on a connection that had served others, so that it may well have ended before the server saw it. */
export class Unanswered extends Error {
  readonly inner: UnreachableError;
  readonly old: boolean;

  constructor(inner: UnreachableError, old: boolean) {
    super(inner.message);
    this.inner = inner;
    this.old = old;
  }
}

/**
 * Opens TLS to a server and asks for HTTP/2. Answers undefined where the server speaks HTTP/1.1 only. Throws `UnreachableError`, and that
 * nothing was sent. Ends with the signal.
 */
export async function openLink(
  connection: Connection,
  patience: Patience,
  signal: AbortSignal,
): Promise<H2Link | undefined> {
  const { server } = connection;
  let socket: TLSSocket;
  try {
    socket = await openSocket(connection, patience, signal);
  } catch (error) {
    throw unreachable(server, error instanceof Error ? error : new Error(String(error)), false);
  }
  if (socket.alpnProtocol === H2_PROTOCOL) return new H2Link(server, socket, patience);
  socket.destroy();
  return undefined;
}

function openSocket(connection: Connection, { connectTimeoutMs }: Patience, signal: AbortSignal): Promise<TLSSocket> {
  const { hostname, port } = new URL(connection.server);
  const host = hostname.replace(/^\[|\]$/g, '');
  return new Promise((resolve, reject) => {
    const socket = connectTls({
      host,
      port: Number(port || 443),
      ...(isIP(host) === 0 ? { servername: host } : {}),
      ...tlsOptions(connection),
      ALPNProtocols: [H2_PROTOCOL, 'http/1.1'],
    });
    socket.setKeepAlive(true, PROBE_AFTER_MS);
    const late = () => socket.destroy(Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' }));
    const leave = () => socket.destroy(new Error('it was broken off'));
    socket.setTimeout(connectTimeoutMs, late);
    signal.addEventListener('abort', leave, { once: true });
    socket.once('secureConnect', () => {
      socket.setTimeout(0);
      socket.off('timeout', late);
      signal.removeEventListener('abort', leave);
      resolve(socket);
    });
    socket.once('error', reject);
    socket.once('close', () => {
      signal.removeEventListener('abort', leave);
      reject(new Error('it hung up'));
    });
    if (signal.aborted) leave();
  });
}

/** One connection to a server, over which all requests of a client go side by side. */
export class H2Link {
  readonly #server: string;
  readonly #patience: Patience;
  readonly #socket: TLSSocket;
  readonly #session: ClientHttp2Session;
  /** What broke it. */
  #broke: Error | undefined;
  /** Whether it has served a request. */
  #old = false;

  constructor(server: string, socket: TLSSocket, patience: Patience) {
    this.#server = server;
    this.#patience = patience;
    this.#socket = socket;
    this.#session = connectHttp2(server, {
      createConnection: () => socket,
      settings: { enablePush: false, initialWindowSize: ANSWER_WINDOW_BYTES },
      maxReservedRemoteStreams: 0,
    });
    this.#session.on('error', (error) => {
      this.#broke ??= error;
    });
    this.#session.once('connect', () => this.#session.setLocalWindowSize(WINDOW_BYTES));
  }

  /** Whether it takes requests. */
  get usable(): boolean {
    return !this.#session.closed && !this.#session.destroyed && !this.#socket.destroyed;
  }

  /** Hears of its end, once. */
  onceClosed(listener: () => void): void {
    this.#session.once('close', listener);
  }

  /** Takes no more requests, and ends when those under way are over. */
  retire(): void {
    this.#session.close();
  }

  /** Ends it with all that is under way. */
  breakOff(why: Error): void {
    this.#broke ??= why;
    this.#session.destroy(why);
    this.#socket.destroy();
  }

  /** Sends a request. Throws `Unanswered`, the reason of the request's signal, or a TypeError for what cannot be sent. */
  send(request: ApiRequest, authorization: string | undefined): Promise<ApiResponse> {
    const { signal } = request;
    const old = this.#old;
    let stream: ClientHttp2Stream;
    try {
      stream = this.#session.request(headersOf(this.#server, request, authorization), {
        endStream: request.body === undefined,
      });
    } catch (error) {
      if (this.usable) throw error;
      throw new Unanswered(this.#unreachable(error, false), old);
    }
    const { promise, resolve, reject } = Promise.withResolvers<ApiResponse>();
    let failure: Error | undefined;
    const heardBytes = this.#socket.bytesRead;
    stream.setTimeout(this.#patience.answerTimeoutMs, () => {
      failure = Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' });
      leave(stream);
      // Nobody is there any longer, for the others either.
      if (this.#socket.bytesRead === heardBytes) this.breakOff(failure);
    });
    const aborted = () => {
      reject(signal?.reason);
      leave(stream);
    };
    signal?.addEventListener('abort', aborted, { once: true });
    stream.once('response', (headers) => {
      this.#old = true;
      // A watch may be quiet for as long as it likes once it is answered.
      stream.setTimeout(0);
      resolve({ status: headers[':status'] ?? 0, headers: headersIn(headers), body: this.#bodyOf(stream, signal) });
    });
    stream.on('error', (error) => {
      failure ??= error;
    });
    stream.once('close', () => {
      signal?.removeEventListener('abort', aborted);
      const sent = stream.rstCode !== NGHTTP2_REFUSED_STREAM;
      reject(new Unanswered(this.#unreachable(failure, sent), old));
    });
    if (request.body !== undefined) stream.end(request.body);
    return promise;
  }

  /** The pieces of a body. One that breaks off says so in the same words as a connection that could not be had. */
  #bodyOf(stream: ClientHttp2Stream, signal: AbortSignal | undefined): AsyncIterable<Uint8Array> {
    let whole = false;
    // A stream that is broken off may end, too, but not before it is destroyed or has its code.
    stream.once('end', () => {
      whole = !stream.destroyed && stream.rstCode === NGHTTP2_NO_ERROR;
    });
    const broken = (error: unknown) => (signal?.aborted ? signal.reason : this.#unreachable(error, true));
    return (async function* () {
      try {
        yield* stream.iterator({ destroyOnReturn: false });
      } catch (error) {
        throw broken(error);
      } finally {
        if (!whole) leave(stream);
      }
      if (!whole) throw broken(new Error('it ended in the middle of an answer'));
    })();
  }

  #unreachable(error: unknown, sent: boolean): UnreachableError {
    const why = this.#broke ?? error;
    return unreachable(this.#server, why instanceof Error ? why : new Error('it ended'), sent);
  }
}

/** Nobody reads what comes on a stream. */
function leave(stream: ClientHttp2Stream): void {
  stream.close(NGHTTP2_CANCEL);
  stream.destroy();
}

function headersOf(
  server: string,
  { method, path, headers, body }: ApiRequest,
  authorization: string | undefined,
): OutgoingHttpHeaders {
  const url = urlOf(server, path);
  return {
    ':method': method,
    ':path': url.pathname + url.search,
    ':scheme': 'https',
    ':authority': url.host,
    ...headers,
    ...(authorization === undefined ? {} : { authorization }),
    ...(body === undefined ? {} : { 'content-length': body.length }),
  };
}

function headersIn(headers: IncomingHttpHeaders & IncomingHttpStatusHeader): ApiResponse['headers'] {
  const plain: Record<string, string | readonly string[]> = {};
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined && !name.startsWith(':')) plain[name] = value;
  }
  return plain;
}
