/**
 * The seam between everything that asks and the server: a request in, a response out. In one process it is a function call
 * (`apiserver/client/in-process.ts`), across processes HTTPS (`https-transport.ts`); the server cannot tell them apart but by identity.
 */
export interface ApiRequest {
  /** GET, POST, PUT, PATCH or DELETE. */
  readonly method: string;
  /** Path and query, as on the wire: `/apis/coppice.dev/v1/vms?limit=500`. */
  readonly path: string;
  /** Names in lowercase. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** Ends the request, and the response's body with it. */
  readonly signal?: AbortSignal;
}

export interface ApiResponse {
  readonly status: number;
  /** Names in lowercase. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** The body in pieces. Must be read to its end or returned from. */
  readonly body: AsyncIterable<Uint8Array>;
}

/** Throws when no response could be had (refused, reset, aborted); HTTP errors are responses. */
export type Transport = (request: ApiRequest) => Promise<ApiResponse>;
