import { createHash } from 'node:crypto';
import { ApiError } from '../../resources/meta/api-error.ts';
import type { Identity } from '../auth/identity.ts';

/** How long the answer to a create under an Idempotency-Key is kept, in milliseconds. */
export const KEPT_MS = 24 * 60 * 60_000;
/** How large an object may be that is made under a key: it is stored twice, in one transaction. */
export const MAX_KEPT_BYTES = 512 << 10;
/** How many answers are kept of one identity. */
export const MAX_KEPT_ANSWERS = 10_000;

const HEADER = 'idempotency-key';
/** What the store keys of answers begin with. */
export const ANSWERS = 'idempotency/answers/';
/** Names every answer after the instant it is forgotten at, so that what is due comes first. */
export const DUE = 'idempotency/due/';

/** What a create under a key is known by. */
export interface KeptName {
  /** Where the answer is kept. */
  readonly key: string;
  /** Where all answers of the same identity are. */
  readonly shelf: string;
  /** Stands for the body that came with the key. */
  readonly body: string;
}

/** A create that was answered: `stored` is what the store keeps of the object, whose store key is `at`. */
export interface KeptAnswer {
  readonly body: string;
  readonly dueMs: number;
  readonly warnings: readonly string[];
  readonly at: string;
  /** The revision of the object; that of the answer, where the two were written together and the answer not since. */
  readonly revision?: number;
  readonly stored: Uint8Array;
}

/** The key that a request came with, or undefined. Throws `BadRequest` when it is none. */
export function keyOfRequest(headers: Readonly<Record<string, string>>): string | undefined {
  const key = headers[HEADER];
  if (key === undefined || /^[\x21-\x7e]([\x20-\x7e]{0,253}[\x21-\x7e])?$/.test(key)) return key;
  throw new ApiError('BadRequest', 'the Idempotency-Key must have 1 to 255 printable ASCII characters');
}

/** Names a create: a key is one identity's, for one method and path. */
export function keptName(
  { user, uid }: Identity,
  request: { readonly method: string; readonly path: string; readonly key: string; readonly body: Uint8Array },
): KeptName {
  const path = request.path.split('/').filter((segment) => segment !== '');
  const shelf = `${ANSWERS}${digest(JSON.stringify([user, uid ?? '']))}/`;
  const key = shelf + digest(JSON.stringify([request.method, path, request.key]));
  return { key, shelf, body: digest(request.body) };
}

const digest = (content: string | Uint8Array): string => createHash('sha256').update(content).digest('base64url');

const DIGITS = 16;

/** Where it is written when an answer is forgotten; in the order of the instants. */
export function dueKey(dueMs: number, key: string): string {
  return `${DUE}${String(dueMs).padStart(DIGITS, '0')}/${key.slice(ANSWERS.length)}`;
}

/** The instant and the answer that a due key is about. */
export function parseDueKey(text: string): { readonly dueMs: number; readonly key: string } {
  const from = DUE.length + DIGITS;
  return { dueMs: Number(text.slice(DUE.length, from)), key: ANSWERS + text.slice(from + 1) };
}

const NEWLINE = 0x0a;

/** One line about the answer, then the object. */
export function encodeKept({ stored, ...head }: KeptAnswer): Uint8Array {
  return Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), stored]);
}

export function decodeKept(value: Uint8Array): KeptAnswer {
  const end = value.indexOf(NEWLINE);
  const head = JSON.parse(new TextDecoder().decode(value.subarray(0, end))) as Omit<KeptAnswer, 'stored'>;
  return { ...head, stored: value.subarray(end + 1) };
}
