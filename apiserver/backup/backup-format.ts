import type { KeyValue } from '../store/copy/fill-store.ts';

/**
 * A backup is lines of JSON, the same for every store:
 *
 * 1. the header, one line: `{"coppiceBackup":1,…}`;
 * 2. the files of the pki folder, a line each: `{"file":PATH,"mode":MODE,"data":BASE64}`;
 * 3. the keys in byte order, a line each: `{"k":KEY,"v":TEXT}`, or `"b":BASE64` for a value that is not text;
 * 4. the end, one line: `{"end":{"files":N,"keys":N},"sha256":HEX}` with the digest of all lines before it.
 *
 * Instead of its end a stream that could not go on has `{"failed":MESSAGE,"again":BOOLEAN}`.
 */
export interface BackupHeader {
  /** Of the lines. A reader refuses a greater one. */
  readonly coppiceBackup: number;
  /** Of what the keys and values mean. A reader refuses a greater one. */
  readonly schema: number;
  readonly store: { readonly uid: string; readonly revision: number };
  /** In RFC 3339. */
  readonly takenAt: string;
  /** The version of Coppice that took it. */
  readonly product: string;
  readonly files: number;
  readonly keys: number;
}

export const BACKUP_FORMAT = 1;
export const DATA_SCHEMA = 1;

/** A file of the pki folder. */
export interface BackupFile {
  /** Below the folder, with slashes. */
  readonly path: string;
  readonly mode: number;
  readonly data: Uint8Array;
}

export type BackupRecord =
  | { readonly kind: 'header'; readonly header: BackupHeader }
  | { readonly kind: 'file'; readonly file: BackupFile }
  | { readonly kind: 'keys'; readonly entries: readonly KeyValue[] };

/** The parts of a backup, for people. */
export type BackupSection = 'header' | 'pki' | 'keys' | 'end';

/** Why a backup cannot be used. */
export class BackupError extends Error {
  readonly where: { readonly line: number; readonly section: BackupSection };
  /** It is whole as far as it goes; taking it again may go better. */
  readonly again: boolean;

  constructor(message: string, where: BackupError['where'], again = false) {
    super(message);
    this.name = 'BackupError';
    this.where = where;
    this.again = again;
  }
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export function fileLine({ path, mode, data }: BackupFile): string {
  return `${JSON.stringify({ file: path, mode, data: Buffer.from(data).toString('base64') })}\n`;
}

export function keyLine({ key, value }: KeyValue): string {
  const text = textOf(value);
  const rest = text === undefined ? { b: Buffer.from(value).toString('base64') } : { v: text };
  return `${JSON.stringify({ k: key, ...rest })}\n`;
}

/** The value as text, if that gives the same bytes back. */
function textOf(value: Uint8Array): string | undefined {
  try {
    return decoder.decode(value);
  } catch {
    return undefined;
  }
}
