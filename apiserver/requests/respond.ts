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
  const over = firstTooMuch(texts);
  if (over === undefined) return texts;
  let written = 0;
  const kept: string[] = [];
  for (const [i, text] of texts.entries()) {
    // Those up to the one that was too much stay, however long they are together.
    if (i > over && written >= MOST_RUNES) break;
    const runes = firstRunes(text);
    written += runes.length;
    kept.push(runes.join(''));
  }
  return kept;
}

/** The first text with which all of them are too long. */
function firstTooMuch(texts: readonly string[]): number | undefined {
  let total = 0;
  for (const [i, text] of texts.entries()) {
    for (const _ of text) if (++total > MOST_RUNES) return i;
  }
  return undefined;
}

function firstRunes(text: string): string[] {
  // A character is two units at most.
  return [...text.slice(0, 2 * MOST_RUNES_A_TEXT)].slice(0, MOST_RUNES_A_TEXT);
}

const quotable = (text: string): string => text.replace(CONTROL, ' ').replace(/(["\\])/g, '\\$1');
