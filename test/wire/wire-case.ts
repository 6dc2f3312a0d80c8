import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Fields, parseExact } from './exact-json.ts';

/** What of an answer is compared; see present.ts. */
export type Show = string | readonly (string | readonly string[])[] | Fields | null;

/** A request as a case gives it. */
export interface WireRequest {
  readonly method?: string;
  readonly path: string;
  readonly query?: string;
  readonly type?: string;
  readonly accept?: string | null;
  readonly headers?: Readonly<Record<string, string | null>>;
  readonly body?: unknown;
  readonly text?: string | readonly (string | readonly [string, number])[];
  readonly base64?: string;
}

/** One step: a request, or one of `watch`, `collect`, `end`, `check`, `until` and `sleep`. */
export interface Step extends Partial<WireRequest> {
  readonly sleep?: number;
  readonly check?: readonly (readonly [string, unknown, unknown])[];
  readonly until?: WireRequest & { readonly seconds?: number; readonly code?: number; readonly has?: Fields };
  readonly watch?: string;
  readonly collect?: string;
  readonly end?: string;
  readonly count?: number;
  readonly wait?: number;
  /** Paths: with dots, or name by name. */
  readonly save?: Fields;
  readonly saveHeader?: Readonly<Record<string, string>>;
  readonly show?: Show;
  readonly sort?: boolean;
  readonly managed?: boolean;
  readonly anytype?: boolean;
  readonly also?: readonly string[];
  readonly want?: unknown;
}

export interface WireCase {
  readonly id: string;
  readonly title: string;
  readonly given?: readonly Step[];
  readonly steps: readonly Step[];
  /** False: refusals are compared by code and reason only. */
  readonly wording?: boolean;
  /** False: the case needs no namespace. */
  readonly ns?: boolean;
}

export function readCases(file: string): readonly WireCase[] {
  const lines = readFileSync(join(import.meta.dirname, 'data', file), 'utf8').split('\n');
  return lines.filter((line) => line.trim() !== '').map((line) => parseExact(line) as WireCase);
}
