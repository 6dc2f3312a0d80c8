import { ApiError } from '../resources/meta/api-error.ts';
import type { Identity } from './auth/identity.ts';
import type { Transport } from './client/transport.ts';
import type { App, ServerRequest } from './requests/server-request.ts';

/** A transport that calls the app directly, as an identity it vouches for: same authorization, no socket. */
export function inProcessTransport(app: App, identity: Identity): Transport {
  return async ({ method, path, headers = {}, body, signal }) => {
    const ended = new AbortController();
    const url = new URL(path, 'https://in-process');
    const request: ServerRequest = {
      method,
      path: url.pathname,
      query: url.searchParams,
      // What no program says it is goes by who it is.
      headers: { 'user-agent': identity.user, ...headers },
      async body(maxBytes) {
        const bytes = body ?? new Uint8Array();
        if (bytes.length > maxBytes) throw tooLarge(maxBytes);
        return bytes;
      },
      signal: signal === undefined ? ended.signal : AbortSignal.any([signal, ended.signal]),
      credential: { kind: 'identity', identity },
    };
    signal?.throwIfAborted();
    const response = await app(request);
    return { status: response.status, headers: response.headers, body: pieces(response.body, ended) };
  };
}

/** The body, which ends the request when its reader stops: also one that stops before its first piece. */
function pieces(body: Uint8Array | AsyncIterable<Uint8Array>, ended: AbortController): AsyncIterable<Uint8Array> {
  const source = body instanceof Uint8Array ? one(body) : body;
  return {
    [Symbol.asyncIterator]() {
      const from = source[Symbol.asyncIterator]();
      return {
        async next() {
          const result = await from.next();
          if (result.done === true) ended.abort();
          return result;
        },
        async return() {
          ended.abort();
          await from.return?.();
          return { done: true as const, value: undefined };
        },
      };
    },
  };
}

async function* one(body: Uint8Array): AsyncIterable<Uint8Array> {
  if (body.length > 0) yield body;
}

/** 413 with the limit in it. */
export function tooLarge(maxBytes: number): ApiError {
  return new ApiError('RequestEntityTooLarge', `Request entity too large: limit is ${maxBytes}`);
}
