import { createHash } from 'node:crypto';
import { isObject } from '../../resources/meta/object.ts';
import type { KeyValue } from '../store/copy/fill-store.ts';
import { STORE_LIMITS } from '../store/store.ts';
import {
  BACKUP_FORMAT,
  BackupError,
  type BackupFile,
  type BackupHeader,
  type BackupRecord,
  type BackupSection,
  DATA_SCHEMA,
} from './backup-format.ts';

/** A value of the largest size in base64, or as text with an escape for every byte, and its key. */
const MAX_LINE_BYTES = STORE_LIMITS.valueBytes * 6 + (64 << 10);
/** Of a pki folder, which has a dozen. */
const MOST_FILES = 1000;
const PAGE = { keys: 128, bytes: 1_000_000 } as const;
/** A store of it begins above, and has to have room to go on. */
const MOST_REVISION = 2 ** 52;
const PRINTABLE_ASCII = /^[\x20-\x7e]+$/;
const FILE_PATH = /^(?!.*(^|\/)\.{1,2}(\/|$))[A-Za-z0-9._-]+(\/[A-Za-z0-9._-]+)*$/;

/**
 * Reads the lines of a backup. What it gives is only good once it has come to its end without a throw: then all of it was there and is as it was
 * written. Throws `BackupError`, which tells the line.
 */
export async function* readBackup(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<BackupRecord> {
  const reader = new LineReader();
  for await (const line of linesOf(chunks, reader)) {
    reader.line += 1;
    const record = reader.take(line);
    if (record !== undefined) yield record;
    if (reader.fullPage) yield reader.page();
  }
  if (reader.section === 'header') throw reader.error('it is empty');
  if (!reader.ended) throw reader.error('it is cut off: its end is missing');
}

/** Whole lines, without their ends. */
async function* linesOf(chunks: AsyncIterable<Uint8Array>, reader: LineReader): AsyncGenerator<Buffer> {
  let rest: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    let from = 0;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
      rest.push(Buffer.from(chunk.subarray(from, at)));
      yield rest.length === 1 && rest[0] !== undefined ? rest[0] : Buffer.concat(rest);
      rest = [];
      bytes = 0;
      from = at + 1;
    }
    if (from === chunk.length) continue;
    rest.push(Buffer.from(chunk.subarray(from)));
    bytes += chunk.length - from;
    if (bytes > MAX_LINE_BYTES) throw reader.error('the next line has no end', 1);
  }
  if (rest.length > 0) throw reader.error('it is cut off in the middle of a line', 1);
}

/** What has been read so far, and what may come next. */
class LineReader {
  line = 0;
  section: BackupSection = 'header';
  ended = false;
  readonly #hash = createHash('sha256');
  #header: BackupHeader | undefined;
  #files = 0;
  readonly #paths: string[] = [];
  #keys = 0;
  #lastKey = '';
  #page: KeyValue[] = [];
  #pageBytes = 0;

  get fullPage(): boolean {
    return this.#page.length >= PAGE.keys || this.#pageBytes >= PAGE.bytes || (this.ended && this.#page.length > 0);
  }

  page(): BackupRecord {
    const entries = this.#page;
    this.#page = [];
    this.#pageBytes = 0;
    return { kind: 'keys', entries };
  }

  error(message: string, linesOn = 0): BackupError {
    return new BackupError(message, { line: this.line + linesOn, section: this.section });
  }

  /** A record for everything but keys, which are gathered into pages. */
  take(line: Buffer): BackupRecord | undefined {
    if (this.ended) throw this.error('it goes on after its end');
    const value = this.#parsed(line);
    if (this.#header === undefined) {
      this.#header = this.#headerOf(value);
      this.#digest(line);
      this.section = 'pki';
      return { kind: 'header', header: this.#header };
    }
    if (typeof value.failed === 'string')
      throw new BackupError(value.failed, { line: this.line, section: this.section }, value.again === true);
    if (isObject(value.end)) return this.#end(value, this.#header);
    this.#digest(line);
    if (value.k === undefined && this.section === 'pki') return { kind: 'file', file: this.#fileOf(value) };
    this.section = 'keys';
    this.#takeKey(value);
    return undefined;
  }

  #digest(line: Buffer): void {
    this.#hash.update(line).update('\n');
  }

  #parsed(line: Buffer): Record<string, unknown> {
    let value: unknown;
    try {
      value = JSON.parse(line.toString('utf8'));
    } catch {
      throw this.error(this.#header === undefined ? NOT_OURS : 'the line is no JSON');
    }
    if (!isObject(value)) throw this.error(this.#header === undefined ? NOT_OURS : 'the line is no object');
    return value;
  }

  #headerOf(value: Record<string, unknown>): BackupHeader {
    const { coppiceBackup: format, schema, store, takenAt, product, files, keys } = value;
    if (typeof format !== 'number') throw this.error(NOT_OURS);
    const by = typeof product === 'string' ? ` (Coppice ${product})` : '';
    if (format > BACKUP_FORMAT)
      throw this.error(`a newer version${by} made it: format ${format}, and this one reads ${BACKUP_FORMAT}`);
    if (typeof schema === 'number' && schema > DATA_SCHEMA)
      throw this.error(`a newer version${by} made it: data of schema ${schema}, and this one knows ${DATA_SCHEMA}`);
    const whole =
      isObject(store) && typeof store.uid === 'string' && isCount(store.revision) && isCount(files) && isCount(keys);
    if (!whole || typeof schema !== 'number' || typeof takenAt !== 'string' || typeof product !== 'string')
      throw this.error('the header lacks something');
    const of = { uid: store.uid as string, revision: store.revision as number };
    const isSane =
      [of.uid, takenAt, product].every((text) => PRINTABLE_ASCII.test(text)) && of.revision < MOST_REVISION;
    if (!isSane || !Number.isInteger(schema) || schema < 1 || !Number.isInteger(format) || format < 1)
      throw this.error('the header holds what no server wrote');
    return { coppiceBackup: format, schema, store: of, takenAt, product, files, keys };
  }

  #fileOf({ file: path, mode, data }: Record<string, unknown>): BackupFile {
    if (typeof path !== 'string' || typeof mode !== 'number' || typeof data !== 'string')
      throw this.error('the line is neither a file nor a key');
    if (!FILE_PATH.test(path)) throw this.error(`the file name ${JSON.stringify(path)} leads out of its folder`);
    const clashes = this.#paths.some(
      (other) => other === path || `${other}/`.startsWith(`${path}/`) || path.startsWith(`${other}/`),
    );
    if (clashes) throw this.error(`the file name ${path} is there already`);
    if (this.#paths.length === MOST_FILES) throw this.error('there are too many files');
    this.#paths.push(path);
    this.#files += 1;
    return { path, mode: mode & 0o777, data: Buffer.from(data, 'base64') };
  }

  #takeKey({ k: key, v: text, b: base64 }: Record<string, unknown>): void {
    if (typeof key !== 'string' || !PRINTABLE_ASCII.test(key)) throw this.error('the line has no key');
    if (key <= this.#lastKey) throw this.error(`the key ${key} is out of order`);
    if (typeof text !== 'string' && typeof base64 !== 'string') throw this.error(`the key ${key} has no value`);
    const value = typeof text === 'string' ? Buffer.from(text) : Buffer.from(String(base64), 'base64');
    if (value.byteLength > STORE_LIMITS.valueBytes) throw this.error(`the value of ${key} is too large`);
    this.#lastKey = key;
    this.#keys += 1;
    this.#page.push({ key, value: new Uint8Array(value.buffer, value.byteOffset, value.byteLength) });
    this.#pageBytes += value.byteLength;
  }

  #end({ end, sha256 }: Record<string, unknown>, header: BackupHeader): undefined {
    this.section = 'end';
    const { files, keys } = isObject(end) ? end : {};
    for (const [what, there, said] of [
      ['files', this.#files, header.files],
      ['keys', this.#keys, header.keys],
      ['files', this.#files, files],
      ['keys', this.#keys, keys],
    ] as const) {
      if (there !== said) throw this.error(`there are ${there} ${what}, and should be ${String(said)}`);
    }
    if (this.#hash.digest('hex') !== sha256) throw this.error('the checksum does not fit: something in it was changed');
    this.ended = true;
    return undefined;
  }
}

const NOT_OURS = 'it is no backup of Coppice';

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
