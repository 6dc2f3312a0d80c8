import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../../resources/ambient/clock.ts';
import { runTool } from './run-tool.ts';

/** What this host says of its processes. */
export interface HostProcesses {
  /** Changes with each boot. */
  bootId(): Promise<string>;
  /** The process as it is now; undefined if there is none, or only its remains. Throws when that cannot be found out. */
  find(pid: number): Promise<HostProcess | undefined>;
  /** The processes that have the text on their command line. Those this user may not look at are left out. */
  containing(text: string): Promise<readonly (HostProcess & { readonly pid: number })[]>;
}

interface HostProcess {
  /** Together with the pid it names a process once and for all, within one boot. */
  readonly startTime: string;
  readonly argv: string;
}

/** Linux. `root` is `/proc`. Arguments are separated by NUL, as there. */
export function procProcesses(root: string): HostProcesses {
  const self: HostProcesses = {
    async bootId() {
      return (await readFile(join(root, 'sys/kernel/random/boot_id'), 'utf8')).trim();
    },
    async find(pid) {
      try {
        const stat = await readFile(join(root, String(pid), 'stat'), 'utf8');
        // The name in parentheses may hold spaces and parentheses itself: fields are counted from the last one. State is 3rd, start time 22nd.
        const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
        const startTime = fields[19];
        if (fields[0] === 'Z' || fields[0] === 'X' || startTime === undefined) return undefined;
        return { startTime, argv: await readFile(join(root, String(pid), 'cmdline'), 'utf8') };
      } catch (error) {
        // Gone, also between the two reads. Any other failure is ours (no file descriptors left, say) and proves nothing about the process.
        if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ESRCH'))
          return undefined;
        throw error;
      }
    },
    async containing(text) {
      const found: (HostProcess & { readonly pid: number })[] = [];
      for (const name of await readdir(root)) {
        if (!/^\d+$/.test(name)) continue;
        const argv = await readFile(join(root, name, 'cmdline'), 'utf8').catch(() => '');
        const process = argv.includes(text) ? await self.find(Number(name)) : undefined;
        if (process?.argv.includes(text)) found.push({ ...process, pid: Number(name) });
      }
      return found;
    },
  };
  return self;
}

const MAX_PROCESS_LIST = 16 * 1024 * 1024;
const PROCESS_ROW = /^\s*(\d+)\s+(\S+)\s+(\S+\s+\S+\s+\S+\s+\S+\s+\S+)\s+(.*)$/;

/** macOS and others without `/proc`, by asking `ps` and `sysctl`. Arguments are separated by spaces. */
export function psProcesses(clock: Clock): HostProcesses {
  const never = new AbortController().signal;
  const ask = (binary: string, args: readonly string[], maxOutputBytes?: number) =>
    runTool(
      binary,
      args,
      { clock, timeoutMs: 5000, ...(maxOutputBytes === undefined ? {} : { maxOutputBytes }) },
      never,
    );
  return {
    async bootId() {
      return (await ask('sysctl', ['-n', 'kern.boottime'])).stdout.trim();
    },
    async find(pid) {
      const said = await ask('ps', ['-ww', '-o', 'state=,lstart=,command=', '-p', String(pid)]);
      const line = /^(\S+)\s+(\S+\s+\S+\s+\S+\s+\S+\s+\S+)\s+(.*)$/.exec(said.stdout.trim());
      if (line === null || line[1]?.startsWith('Z')) return undefined;
      return { startTime: line[2] ?? '', argv: line[3] ?? '' };
    },
    async containing(text) {
      const said = await ask('ps', ['-axww', '-o', 'pid=,state=,lstart=,command='], MAX_PROCESS_LIST);
      return said.stdout.split('\n').flatMap((row) => {
        const line = row.includes(text) && PROCESS_ROW.exec(row);
        if (!line || line[2]?.startsWith('Z')) return [];
        return [{ pid: Number(line[1]), startTime: line[3] ?? '', argv: line[4] ?? '' }];
      });
    },
  };
}
