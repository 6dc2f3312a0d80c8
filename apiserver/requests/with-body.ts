import type { ServerRequest } from './server-request.ts';

/** The same request, whose body was read already. */
export function withBody(request: ServerRequest, bytes: Uint8Array): ServerRequest {
  const { method, path, query, headers, repeated, signal, credential } = request;
  return { method, path, query, headers, repeated, signal, credential, body: async () => bytes };
}
