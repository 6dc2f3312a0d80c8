import { readFile } from 'node:fs/promises';
import type { GuestFiles } from './guest-files.ts';
import type { GuestState } from './guest-record.ts';
import type { HostProcesses } from './host-processes.ts';

/** What became of a guest's process. */
type ProcessFate =
  | { readonly kind: 'alive'; readonly pid: number; readonly startTime: string }
  | { readonly kind: 'gone' }
  /** The host has booted since: nothing that was written down then still runs. */
  | { readonly kind: 'host-rebooted' };

/**
 * Proves that a guest runs. A number alone proves nothing, pids come again: the process must have the noted start time, or be the one the pidfile names, and
 * in both cases carry this guest's pidfile on its command line. The pidfile finds a process whose starter died before it could note it.
 */
export async function observeProcess(
  state: GuestState,
  files: GuestFiles,
  processes: HostProcesses,
): Promise<ProcessFate> {
  if (state.bootId !== undefined && state.bootId !== (await processes.bootId())) return { kind: 'host-rebooted' };
  if (state.pid !== undefined) {
    const found = await processes.find(state.pid);
    if (found !== undefined && found.startTime === state.startTime && carries(found.argv, files.pidfile)) {
      return { kind: 'alive', pid: state.pid, startTime: found.startTime };
    }
  }
  const pid = await readPidfile(files.pidfile);
  if (pid !== undefined && pid !== state.pid) {
    const found = await processes.find(pid);
    if (found !== undefined && carries(found.argv, files.pidfile))
      return { kind: 'alive', pid, startTime: found.startTime };
  }
  return { kind: 'gone' };
}

function carries(argv: string, pidfile: string): boolean {
  return argv.includes(`-pidfile\0${pidfile}\0`) || argv.includes(`-pidfile ${pidfile} `);
}

async function readPidfile(path: string): Promise<number | undefined> {
  const text = await readFile(path, 'utf8').catch(() => '');
  const pid = Number.parseInt(text, 10);
  return Number.isSafeInteger(pid) && pid > 1 ? pid : undefined;
}
