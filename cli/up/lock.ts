import { readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import type { HostProcesses } from '../../nodelet/drivers/qemu/host-processes.ts';
import { isObject } from '../../resources/meta/object.ts';
import { Failure } from '../failure.ts';

/** One process on one boot of one machine. */
interface Holder {
  readonly pid: number;
  readonly startTime: string;
  readonly bootId: string;
}

/** Two that find the same stale file race for it; the loser finds the winner's. */
const TRIES = 5;

/**
 * Takes the installation for this process: one `coppice up` a home. A file left by a process that is gone, or by an earlier boot, is replaced.
 * Throws a `Failure` that names the pid of the one that runs. Disposing it gives the installation free.
 */
export async function takeLock(path: string, processes: HostProcesses, pid: number): Promise<Disposable> {
  const own = await describe(processes, pid);
  for (let attempt = 0; attempt < TRIES; attempt++) {
    try {
      writeFileSync(path, `${JSON.stringify(own)}\n`, { flag: 'wx', mode: 0o600 });
      return { [Symbol.dispose]: () => release(path, own) };
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    }
    const holder = readHolder(path);
    if (holder !== undefined && (await isAlive(holder, processes))) {
      throw new Failure(`coppice is already running on this home as pid ${holder.pid}`, {
        hint: `stop it with "kill -INT ${holder.pid}", or choose another --home`,
      });
    }
    remove(path);
  }
  throw new Failure(`${path} cannot be taken: others keep taking it`);
}

async function describe(processes: HostProcesses, pid: number): Promise<Holder> {
  const found = await processes.find(pid);
  return { pid, startTime: found?.startTime ?? '', bootId: await processes.bootId() };
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
    // Half-written by a process that died, or gone already: nobody holds it.
    return undefined;
  }
}

function release(path: string, own: Holder): void {
  if (readHolder(path)?.pid === own.pid) remove(path);
}

function remove(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
  }
}
