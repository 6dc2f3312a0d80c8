import { readFileSync, renameSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import type { HostProcesses } from '../../nodelet/drivers/qemu/host-processes.ts';
import type { Clock } from '../../resources/ambient/clock.ts';
import { isObject } from '../../resources/meta/object.ts';
import { Failure } from '../failure.ts';
import { takeTurn } from './turn.ts';

/** One process on one boot of one machine. */
interface Holder {
  readonly pid: number;
  readonly startTime: string;
  readonly bootId: string;
}

interface LockDeps {
  readonly processes: HostProcesses;
  /** This process. */
  readonly pid: number;
  readonly clock: Clock;
}

/**
 * Takes the installation for this process: one `coppice up` a home. A file left by a process that is gone, or by an earlier boot, is replaced.
 * Throws a `Failure` that names the pid of the one that runs. Disposing it gives the installation free.
 */
export async function takeLock(path: string, deps: LockDeps): Promise<Disposable> {
  const { processes, clock } = deps;
  const own = await describe(deps);
  // Of two that find the same dead holder the later would else throw out the earlier.
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
