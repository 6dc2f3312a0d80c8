import type { ApiError } from '../../resources/meta/api-error.ts';
import { encodeJson } from '../../resources/meta/json.ts';
import type { ServerResponse } from './server-request.ts';

const encoder = new TextEncoder();

/** A JSON answer, from a value or from bytes that are JSON already. */
export function json(
  status: number,
  body: unknown,
  headers: Record<string, string | readonly string[]> = {},
): ServerResponse {
  return {
    status,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-cache, private', ...headers },
    body: body instanceof Uint8Array ? body : encoder.encode(encodeJson(body)),
  };
}

/** A plain sentence. */
export function text(status: number, body: string): ServerResponse {
  return { status, headers: { 'content-type': 'text/plain; charset=utf-8' }, body: encoder.encode(body) };
}

/** A failure as its Status. */
export function failure(error: ApiError): ServerResponse {
  const seconds = error.details?.retryAfterSeconds;
  const wait = seconds === undefined ? {} : { 'retry-after': String(seconds) };
  return json(error.code, error.toStatus(), { ...wait, ...warningHeaders(error.warnings) });
}

// Characters no header may hold.
const CONTROL = /\p{Cc}+/gu;

/** `Warning` headers: RFC 7234 code 299, each text quoted and cut to 256 characters, about 4096 in all. */
export function warningHeaders(texts: readonly string[]): Record<string, readonly string[]> {
  if (texts.length === 0) return {};
  const total = texts.reduce((sum, t) => sum + t.length, 0);
  const cut = texts.slice(0, 64).map((t) => (total > 4096 && t.length > 256 ? t.slice(0, 256) : t));
  return { warning: cut.map((t) => `299 - "${t.replace(CONTROL, ' ').replace(/(["\\])/g, '\\$1')}"`) };
}
