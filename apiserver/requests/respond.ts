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

const MOST_RUNES = 4096;
const MOST_RUNES_A_TEXT = 256;

/** `Warning` headers: RFC 7234 code 299, each text once and quoted. Where all of them have over 4096 characters, each is cut to 256, and those that come after 4096 are left out. */
export function warningHeaders(texts: readonly string[]): Record<string, readonly string[]> {
  const distinct = [...new Set(texts)].filter((text) => text !== '');
  if (distinct.length === 0) return {};
  return { warning: fitting(distinct).map((text) => `299 - "${quotable(text)}"`) };
}

function fitting(texts: readonly string[]): readonly string[] {
  const runes = texts.map((text) => [...text]);
  let total = 0;
  const over = runes.findIndex((text) => {
    total += text.length;
    return total > MOST_RUNES;
  });
  if (over < 0) return texts;
  const cut = runes.map((text) => text.slice(0, MOST_RUNES_A_TEXT));
  let written = 0;
  const kept = cut.filter((text, i) => {
    // Those up to the one that was too much stay, however long they are together.
    if (i > over && written >= MOST_RUNES) return false;
    written += text.length;
    return true;
  });
  return kept.map((text) => text.join(''));
}

const quotable = (text: string): string => text.replace(CONTROL, ' ').replace(/(["\\])/g, '\\$1');
