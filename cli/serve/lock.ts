import { readFileSync, renameSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import type { HostProcesses } from '../../nodelet/drivers/qemu/host-processes.ts';
import type { Clock } from '../../resources/ambient/clock.ts';
import { isObject } from '../../resources/meta/object.ts';
import { Failure } from '../failure.ts';

/** One process on one boot of one machine. */
interface Holder {
  readonly pid: number;
  readonly startTime: string;
  readonly bootId: string;
}

export interface LockDeps {
  readonly processes: HostProcesses;
  /** This process. */
  readonly pid: number;
  readonly clock: Clock;
}

const TURN_MS = 10_000;
const TURN_RETRY_MS = 20;
/** SQLite's codes for a lock that another connection has, and for a full disk. */
const SQLITE_BUSY = 5;
const SQLITE_FULL = 13;

/**
 * Takes the installation for this process: one `coppice up` a home. A file left by a process that is gone, or by an earlier boot, is replaced.
 * Throws a `Failure` that names the pid of the one that runs. Disposing it gives the installation free.
 */
export async function takeLock(path: string, deps: LockDeps): Promise<Disposable> {
  const { processes, clock } = deps;
  const own = await describe(deps);
  using _turn = await takeTurn(`${path}.turn`, clock);
  const holder = readHolder(path);
  if (holder !== undefined && (await isAlive(holder, processes))) {
    throw new Failure(`coppice is already running on this home as pid ${holder.pid}`, {
      hint: `stop it with "kill -INT ${holder.pid}", or choose another --home`,
    });
  }
  replace(path, own);
  return { [Symbol.dispose]: () => release(path, own) };
}

/**
 * Looking at who holds the installation and replacing one that is gone is one step, for one process at a time: of two that find the same dead holder the
 * later would else throw out the earlier. An SQLite lock, because the system gives it free whatever becomes of the process.
 */
async function takeTurn(path: string, clock: Clock): Promise<Disposable> {
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
    return new Failure('another start on this home gets no further', {
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

async function describe({ processes, pid }: LockDeps): Promise<Holder> {
  const found = await processes.find(pid);
  if (found === undefined) throw new Error(`the system does not tell of process ${pid}, which is this one`);
  return { pid, startTime: found.startTime, bootId: await processes.bootId() };
}

async function isAlive(holder: Holder, processes: HostProcesses): Promise<boolean> {
  if (holder.bootId !== (await processes.bootId())) return false;
  return (await processes.find(holder.pid))?.startTime === holder.startTime;
}

function readHolder(path: string): Holder | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
    if (!isObject(value)) return undefined;
    const { pid, startTime, bootId } = value;
    if (typeof pid !== 'number' || typeof startTime !== 'string' || typeof bootId !== 'string') return undefined;
    return { pid, startTime, bootId };
  } catch {
    // Not there, or written by something else: nobody holds it.
    return undefined;
  }
}

/** Whole or not at all: on a full disk the file is left as it was. */
function replace(path: string, own: Holder): void {
  const draft = `${path}.tmp`;
  try {
    writeFileSync(draft, `${JSON.stringify(own)}\n`, { mode: 0o600 });
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

function release(path: string, own: Holder): void {
  const holder = readHolder(path);
  if (holder?.pid === own.pid && holder.startTime === own.startTime) unlinkSync(path);
}
