import { readJson } from './json-reader.ts';
import { JsonSyntaxError } from './json-syntax-error.ts';

/** Depth at which a document is refused: deep enough for any schema, shallow enough for every recursive walk over it. */
export const MAX_JSON_DEPTH = 512;

export interface ParsedJson {
  /** Plain objects, arrays, strings, numbers, booleans, null, and BigInt for integers a number cannot hold. */
  readonly value: unknown;
  /** Paths of members given more than once (`spec.color`, `spec.parts[0].name`), in the order met. The last one given counts. */
  readonly duplicates: readonly string[];
}

interface JsonLimits {
  readonly maxDepth?: number;
}

/**
 * Parses JSON without losing what `JSON.parse` loses: integers beyond 2^53 (up to 64 bits) become BigInt, and repeated
 * members are reported. Throws JsonSyntaxError with the words Kubernetes' users know.
 */
export function parseJson(text: string, limits: JsonLimits = {}): ParsedJson {
  const maxDepth = limits.maxDepth ?? MAX_JSON_DEPTH;
  const survey = surveyOf(text);
  if (survey.plainNumbers && survey.depth <= maxDepth) {
    const value = native(text);
    // As many members in the text as in the value: none was given twice.
    if (value !== FAILED && membersOf(value) === survey.members) return { value, duplicates: [] };
  }
  return readJson(text, maxDepth);
}

/** Numbers that a double might not hold, as `plainNumbers` has it, or text within a string that looks like one. */
const ODD_NUMBER = /[:,[]-?(?:[\d.+-]{15}|[\d.]+[eE])/;

/** The value of JSON that `encodeJson` wrote: no member is in it twice, and there is no space in it. */
export function parseOwnJson(text: string): unknown {
  const value = ODD_NUMBER.test(text) ? FAILED : native(text);
  return value === FAILED ? parseJson(text).value : value;
}

const UTF8 = new TextDecoder('utf-8', { fatal: true });

/** The same from bytes; refuses what is not UTF-8 rather than replacing it. */
export function parseJsonBytes(bytes: Uint8Array, limits: JsonLimits = {}): ParsedJson {
  let text: string;
  try {
    text = UTF8.decode(bytes);
  } catch {
    throw new JsonSyntaxError('invalid UTF-8 in JSON text');
  }
  return parseJson(text, limits);
}

/** JSON text with BigInts written as the integers they are. Fields that are undefined are left out. */
export function encodeJson(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    // Either there is a BigInt inside, or the value is circular and this throws again.
    return JSON.stringify(value, (_, item: unknown) => (typeof item === 'bigint' ? rawNumber(item) : item));
  }
}

/** Known to every engine this runs on, not yet to the language's type library. */
interface RawJson {
  rawJSON(text: string): unknown;
}

function rawNumber(value: bigint): unknown {
  return (JSON as JSON & RawJson).rawJSON(value.toString());
}

const FAILED = Symbol('not JSON');

function native(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return FAILED;
    throw error;
  }
}

interface Survey {
  readonly members: number;
  readonly depth: number;
  /** No number is so long, or has an exponent, that a double might not hold it. */
  readonly plainNumbers: boolean;
}

const QUOTE = 0x22;
const COLON = 0x3a;
const DIGITS_A_DOUBLE_HOLDS = 15;

/** One pass over the characters outside strings. On text that is not JSON the counts mean nothing; the parser finds out. */
function surveyOf(text: string): Survey {
  let members = 0;
  let depth = 0;
  let deepest = 0;
  let plainNumbers = true;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === QUOTE) {
      i = endOfString(text, i + 1);
    } else if (c === COLON) {
      members++;
    } else if (c === 0x7b || c === 0x5b) {
      if (++depth > deepest) deepest = depth;
    } else if (c === 0x7d || c === 0x5d) {
      depth--;
    } else if (c === 0x2d || isDigit(c)) {
      const start = i;
      while (i + 1 < text.length && isNumberPart(text.charCodeAt(i + 1))) i++;
      if (i - start >= DIGITS_A_DOUBLE_HOLDS || /[eE]/.test(text.slice(start, i + 1))) plainNumbers = false;
    }
  }
  return { members, depth: deepest, plainNumbers };
}

const isDigit = (c: number) => c >= 0x30 && c <= 0x39;
const isNumberPart = (c: number) => isDigit(c) || c === 0x2e || c === 0x2b || c === 0x2d || (c | 0x20) === 0x65;

/** Index of the closing quote, or the end of the text. */
function endOfString(text: string, from: number): number {
  let at = from;
  for (;;) {
    const quote = text.indexOf('"', at);
    if (quote < 0) return text.length;
    let slashes = 0;
    while (quote - 1 - slashes >= from && text.charCodeAt(quote - 1 - slashes) === 0x5c) slashes++;
    if (slashes % 2 === 0) return quote;
    at = quote + 1;
  }
}

function membersOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) count += membersOf(item);
    return count;
  }
  // The names and a look-up each take half the time of the values where there are very many.
  const fields = value as Readonly<Record<string, unknown>>;
  for (const name of Object.keys(fields)) count += 1 + membersOf(fields[name]);
  return count;
}
