import type { IncomingMessage } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import type { ConnectionOptions, SecureContext } from 'node:tls';
import type { ApiRequest, ApiResponse, Transport } from './transport.ts';
import { UnreachableError, type UnreachableReason } from './unreachable-error.ts';

/** Where a server is and as whom to speak to it. */
export interface Connection {
  /** `https://HOST:PORT`, with a path prefix where the server has one. */
  readonly server: string;
  /** PEM of the authorities to trust; absent means those of the system. */
  readonly ca?: string;
  /** PEM of a client certificate and its key. */
  readonly cert?: string;
  readonly key?: string;
  /** What `ca`, `cert` and `key` come to, where whoever has them has made it: made anew for each connection it takes longer than all else of one. */
  readonly secureContext?: SecureContext;
  /** The name the server's certificate must have, when it is not that of the address. */
  readonly serverName?: string;
  /** Accepts any certificate. */
  readonly insecure?: boolean;
  /** The Authorization header, asked before every request so that renewed tokens are seen. */
  readonly authorization?: () => Promise<string | undefined>;
}

export const CONNECT_TIMEOUT_MS = 10_000;
/** Servers give up on any request before this: what has no answer by then goes to nobody. */
export const ANSWER_TIMEOUT_MS = 75_000;

/** A peer that is gone without a word is found out this long after it was last heard of, and some ten probes more. */
export const PROBE_AFTER_MS = 5_000;

/** HTTPS to one server over kept connections. Whoever makes it disposes it, which ends what is still open. */
export class HttpsTransport implements AsyncDisposable {
  readonly #connection: Connection;
  readonly #connectTimeoutMs: number;
  readonly #agent = new Agent({ keepAlive: true, maxFreeSockets: 4, keepAliveInitialDelay: PROBE_AFTER_MS });

  /** What `connection` holds is read anew for every request, so that it may change. */
  constructor(connection: Connection, options: { readonly connectTimeoutMs?: number } = {}) {
    if (!connection.server.startsWith('https://'))
      throw new Error(`the server address ${connection.server} is not https://, and credentials go over TLS only`);
    this.#connection = connection;
    this.#connectTimeoutMs = options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS;
  }

  readonly send: Transport = async (request) => {
    const authorization = await this.#connection.authorization?.();
    try {
      return await this.#once(request, authorization);
    } catch (error) {
      // The server may close a kept connection just as a request goes out on it. Reading again is harmless; writing again may not be.
      if (request.method === 'GET' && error instanceof StaleConnection) return await this.#once(request, authorization);
      throw error instanceof StaleConnection ? error.inner : error;
    }
  };

  /** Breaks off whatever is under way, and opens connections anew for what comes. */
  breakOff(): void {
    this.#agent.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.breakOff();
  }

  #once(request: ApiRequest, authorization: string | undefined): Promise<ApiResponse> {
    const { promise, resolve, reject } = Promise.withResolvers<ApiResponse>();
    const { server } = this.#connection;
    const outgoing = httpsRequest(urlOf(server, request.path), {
      ...tlsOptions(this.#connection),
      method: request.method,
      agent: this.#agent,
      timeout: this.#connectTimeoutMs,
      headers: {
        ...request.headers,
        ...(authorization === undefined ? {} : { authorization }),
        ...(request.body === undefined ? {} : { 'content-length': request.body.length }),
      },
      ...(request.signal === undefined ? {} : { signal: request.signal }),
    });
    // Before the handshake is done nothing of the request goes out.
    let sent = false;
    const connected = () => {
      sent = true;
      outgoing.setTimeout(ANSWER_TIMEOUT_MS);
    };
    outgoing.on('socket', (socket) => {
      if (!socket.connecting) connected();
      else socket.once('secureConnect', connected);
    });
    outgoing.on('timeout', () => outgoing.destroy(Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' })));
    outgoing.on('response', (response) => {
      // A watch may be quiet for as long as it likes once it is answered.
      outgoing.setTimeout(0);
      resolve(responseOf(response, server, request.signal));
    });
    outgoing.on('error', (error: NodeJS.ErrnoException) => {
      if (request.signal?.aborted) reject(request.signal.reason);
      else if (outgoing.reusedSocket && error.code === 'ECONNRESET')
        reject(new StaleConnection(unreachable(server, error, sent)));
      else reject(unreachable(server, error, sent));
    });
    outgoing.end(request.body);
    return promise;
  }
}

class StaleConnection extends Error {
  readonly inner: UnreachableError;

  constructor(inner: UnreachableError) {
    super(inner.message);
    this.inner = inner;
  }
}

type TlsOptions = Pick<
  ConnectionOptions,
  'ca' | 'cert' | 'key' | 'secureContext' | 'servername' | 'rejectUnauthorized'
>;

/** The TLS part of a connection, also for WebSockets to the same server. */
export function tlsOptions(connection: Connection): TlsOptions {
  return {
    ...(connection.ca === undefined ? {} : { ca: connection.ca }),
    ...(connection.cert === undefined ? {} : { cert: connection.cert }),
    ...(connection.key === undefined ? {} : { key: connection.key }),
    ...(connection.secureContext === undefined ? {} : { secureContext: connection.secureContext }),
    ...(connection.serverName === undefined ? {} : { servername: connection.serverName }),
    ...(connection.insecure === true ? { rejectUnauthorized: false } : {}),
  };
}

/** A path of the API below the server's address. */
export function urlOf(server: string, path: string): URL {
  return new URL(server.replace(/\/+$/, '') + path);
}

/** What a failed connection means, in one sentence. `sent`: whether a request may have gone out on it. */
export function unreachable(server: string, error: NodeJS.ErrnoException, sent = true): UnreachableError {
  const code = error.code ?? '';
  const say = (reason: UnreachableReason, text: string) =>
    new UnreachableError(reason, server, text, { cause: error, sent });
  if (code === 'ECONNREFUSED') return say('refused', `nothing listens at ${server}`);
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return say('unknown-host', `the host of ${server} has no address`);
  if (code === 'ETIMEDOUT' || code === 'EHOSTUNREACH' || code === 'ENETUNREACH')
    return say('timeout', `${server} cannot be reached: it gave no answer in time or there is no way to it`);
  if (UNTRUSTED.has(code) || code.startsWith('ERR_TLS_CERT'))
    return say('untrusted', `the certificate of ${server} is not trusted: ${error.message}`);
  return say('broken', `the connection to ${server} broke: ${error.message}`);
}

const UNTRUSTED = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_SIGNATURE_FAILURE',
]);

function responseOf(response: IncomingMessage, server: string, signal: AbortSignal | undefined): ApiResponse {
  const headers: Record<string, string | readonly string[]> = {};
  for (const [name, values] of Object.entries(response.headersDistinct)) {
    if (values !== undefined) headers[name] = values.length === 1 && values[0] !== undefined ? values[0] : values;
  }
  return { status: response.statusCode ?? 0, headers, body: bodyOf(response, server, signal) };
}

/** The pieces of a body. One that breaks off says so in the same words as a connection that could not be had. */
async function* bodyOf(
  response: IncomingMessage,
  server: string,
  signal: AbortSignal | undefined,
): AsyncIterable<Uint8Array> {
  try {
    yield* response;
  } catch (error) {
    if (signal?.aborted) throw signal.reason;
    throw unreachable(server, error instanceof Error ? error : new Error(String(error)));
  }
}
