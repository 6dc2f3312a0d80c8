import type { ServerRequest } from './server-request.ts';

/** The same request, asking with other parameters. */
export function withQuery(request: ServerRequest, query: URLSearchParams): ServerRequest {
  const { method, path, headers, repeated, signal, credential } = request;
  const body: ServerRequest['body'] = (maxBytes, crowd) => request.body(maxBytes, crowd);
  return { method, path, query, headers, repeated, signal, credential, body };
}
