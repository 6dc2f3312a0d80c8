import { StoreError, type StoreErrorReason } from '../store.ts';

/** SQLite's extended code for no room for the -shm that reading a -wal needs. */
const NO_ROOM_FOR_SHM = 4874;

/** SQLite's extended code for a write that the system refused: nothing of what came after it was written either. */
const NOT_WRITTEN = 778;

/** SQLite's primary result codes (https://sqlite.org/rescode.html) that mean something of their own here. */
const CODE = { busy: 5, readonly: 8, corrupt: 11, full: 13, cantOpen: 14, notADatabase: 26 } as const;

/** The extended result code of an error SQLite threw, else undefined. */
function errcode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return undefined;
  return error.errcode;
}

function sqliteCode(error: unknown): number | undefined {
  const code = errcode(error);
  return code === undefined ? undefined : code & 0xff;
}

export function isCorrupt(error: unknown): boolean {
  return sqliteCode(error) === CODE.corrupt;
}

/** What an error while opening `path` means, with what to do about it. */
export function openError(error: unknown, path: string): StoreError {
  if (error instanceof StoreError) return error;
  switch (errcode(error) === NO_ROOM_FOR_SHM ? CODE.full : sqliteCode(error)) {
    case CODE.busy:
      return new StoreError('Busy', `${path} is open in another process; stop that one or use another store file`);
    case CODE.corrupt:
      return damagedError(path, messageOf(error));
    case CODE.notADatabase:
      return new StoreError('Unreadable', `${path} is not a Coppice store; move it away or use another path`);
    case CODE.full:
      return new StoreError('NoSpace', `no space left to open ${path}; free some and start again`);
    case CODE.cantOpen:
    case CODE.readonly:
      return new StoreError('Unreadable', `cannot open ${path} for writing; check that it belongs to this user`);
    default:
      return systemError(error, path);
  }
}

function systemError(error: unknown, path: string): StoreError {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  const message =
    code === 'EACCES' || code === 'EPERM'
      ? `no permission to read and write ${path}; check that it and its folder belong to this user`
      : `cannot open ${path}: ${messageOf(error)}`;
  return new StoreError(code === 'ENOSPC' ? 'NoSpace' : 'Unreadable', message, { cause: error });
}

export function damagedError(path: string, finding: string): StoreError {
  const line = finding.trim().replaceAll(/\s*\n\s*/g, '; ');
  return new StoreError(
    'Unreadable',
    `${path} is damaged (${line}); restore a backup or move it away, with its -wal file`,
  );
}

/**
 * What an error in a commit means. With a full disk SQLite has undone it; so it has where the system refused to take what was to be written
 * because the file system has become read-only. After anything else, a failed sync above all, nobody knows.
 */
export function writeError(error: unknown, isReadOnly: () => boolean = () => false): StoreError {
  if (error instanceof StoreError) return error;
  if (sqliteCode(error) === CODE.full)
    return new StoreError('NoSpace', 'the disk of the store is full', { cause: error });
  const refused = errcode(error) === NOT_WRITTEN || sqliteCode(error) === CODE.readonly;
  if (!refused || !isReadOnly()) return wrap(error, 'UnknownOutcome');
  return new StoreError('Unavailable', 'the file system of the store is read-only', { cause: error });
}

/** What an error in a read means. */
export function readError(error: unknown): StoreError {
  return wrap(error, 'Unreadable');
}

function wrap(error: unknown, reason: StoreErrorReason): StoreError {
  return error instanceof StoreError ? error : new StoreError(reason, messageOf(error), { cause: error });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
