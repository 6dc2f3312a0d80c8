import { FieldReader } from './field-reader.ts';
import { FrameWriter } from './frame-writer.ts';

export const STATUS_PATH = '/etcdserverpb.Maintenance/Status';
export const COMPACT_PATH = '/etcdserverpb.KV/Compact';
export const PUT_PATH = '/etcdserverpb.KV/Put';
export const AUTHENTICATE_PATH = '/etcdserverpb.Auth/Authenticate';

/** A member's database, and what it says is wrong. */
export interface MemberStatus {
  readonly bytes: number;
  readonly usedBytes: number;
  readonly errors: readonly string[];
}

const STATUS = { dbSize: 3, errors: 8, dbSizeInUse: 9 } as const;
const COMPACTION = { revision: 1, physical: 2 } as const;
const PUT_KEY = 1;
const USER = { name: 1, password: 2 } as const;
const TOKEN = 2;
const MOST_BESIDES = 64;

export const encodeNothing = (): Buffer => new FrameWriter(0).frame();

export function decodeStatus(answer: Buffer): MemberStatus {
  const reader = new FieldReader(answer);
  let bytes = 0;
  let usedBytes = 0;
  const errors: string[] = [];
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === STATUS.dbSize) bytes = reader.number();
    else if (field === STATUS.dbSizeInUse) usedBytes = reader.number();
    else if (field === STATUS.errors) errors.push(reader.bytes().toString());
    else reader.skip();
  }
  return { bytes, usedBytes, errors };
}

/** Forgets what is older than a revision of etcd's, and answers when that is done. */
export function encodeCompaction(revision: number): Buffer {
  const writer = new FrameWriter(MOST_BESIDES);
  writer.number(COMPACTION.revision, revision);
  writer.number(COMPACTION.physical, 1);
  return writer.frame();
}

/** Writes a key with nothing in it. */
export function encodeEmptyPut(key: Buffer): Buffer {
  const writer = new FrameWriter(key.length + MOST_BESIDES);
  writer.bytes(PUT_KEY, key);
  return writer.frame();
}

export function encodeUser({ username, password }: { readonly username: string; readonly password: string }): Buffer {
  const [name, secret] = [Buffer.from(username), Buffer.from(password)];
  const writer = new FrameWriter(name.length + secret.length + MOST_BESIDES);
  writer.bytes(USER.name, name);
  writer.bytes(USER.password, secret);
  return writer.frame();
}

/** What calls of the user carry. */
export function decodeToken(answer: Buffer): string {
  const reader = new FieldReader(answer);
  let token = '';
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === TOKEN) token = reader.bytes().toString();
    else reader.skip();
  }
  return token;
}
