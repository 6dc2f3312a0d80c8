import type { ServerRequest } from './server-request.ts';

/** The same request, given up also when something else says so. */
export function withSignal(request: ServerRequest, also: AbortSignal): ServerRequest {
  const { method, path, query, headers, repeated, credential } = request;
  const body: ServerRequest['body'] = (maxBytes, crowd) => request.body(maxBytes, crowd);
  const signal = AbortSignal.any([request.signal, also]);
  return { method, path, query, headers, repeated, credential, signal, body };
}
