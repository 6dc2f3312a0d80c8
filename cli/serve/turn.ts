import { DatabaseSync } from 'node:sqlite';
import type { Clock } from '../../resources/ambient/clock.ts';
import { Failure } from '../failure.ts';

const TURN_MS = 10_000;
const TURN_RETRY_MS = 20;
/** SQLite's codes for a lock that another connection has, and for a full disk. */
const SQLITE_BUSY = 5;
const SQLITE_FULL = 13;

/**
 * Lets one process at a time go on from here to the disposal of what this answers, among all that name the same file. An SQLite lock, because the
 * system gives it free whatever becomes of the process, and keeps it on a folder shared over NFS as well. Throws a `Failure` when it does not come.
 */
export async function takeTurn(path: string, clock: Clock): Promise<Disposable> {
  const deadline = clock.monotonic() + TURN_MS;
  const database = openTurn(path);
  for (;;) {
    try {
      // Nothing is ever written, so there is nothing to keep a journal of.
      database.exec('PRAGMA journal_mode = OFF; BEGIN EXCLUSIVE');
      return { [Symbol.dispose]: () => database.close() };
    } catch (error) {
      if (sqliteCode(error) !== SQLITE_BUSY || clock.monotonic() > deadline) {
        database.close();
        throw turnFailure(error, path);
      }
    }
    await clock.sleep(TURN_RETRY_MS);
  }
}

function sqliteCode(error: unknown): unknown {
  return error instanceof Error && 'errcode' in error ? error.errcode : undefined;
}

function turnFailure(error: unknown, path: string): Error {
  const message = error instanceof Error ? error.message : String(error);
  const code = sqliteCode(error);
  if (code === SQLITE_FULL) return Object.assign(new Error(message, { cause: error }), { code: 'ENOSPC', path });
  if (code === SQLITE_BUSY)
    return new Failure('another start gets no further', {
      hint: 'end that one, and try again',
      cause: error,
    });
  return new Failure(`${path} cannot be locked: ${message}`, { hint: 'remove that file', cause: error });
}

function openTurn(path: string): DatabaseSync {
  try {
    return new DatabaseSync(path);
  } catch (error) {
    throw new Failure(`${path} cannot be opened`, { hint: 'look at what is there, and whose it is', cause: error });
  }
}
