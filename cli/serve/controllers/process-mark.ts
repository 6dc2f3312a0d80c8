import { readlinkSync } from 'node:fs';
import type { ProcessMark } from '../../../controllers/runtime/election/election.ts';
import type { HostProcesses } from '../../../nodelet/drivers/qemu/host-processes.ts';

interface ProcessMarkDeps {
  readonly processes: HostProcesses;
  readonly hostname: string;
  readonly pid: number;
}

/**
 * Names a process by its machine, boot and container, its id and when it started. Whoever is elsewhere, or in another container, cannot see whether it is
 * there, and does not say that it is gone. Undefined where the system does not tell of this process.
 */
export async function processMark({ processes, hostname, pid }: ProcessMarkDeps): Promise<ProcessMark | undefined> {
  const found = await processes.find(pid);
  if (found === undefined) return undefined;
  const place = [hostname, await processes.bootId(), containerOf()].join(' ');
  return {
    own: JSON.stringify([place, pid, found.startTime]),
    async isGone(mark) {
      const [where, id, startTime] = parsed(mark);
      if (where !== place || typeof id !== 'number') return false;
      return (await processes.find(id))?.startTime !== startTime;
    },
  };
}

/** In which process ids mean the same; only Linux has more than one of these. */
function containerOf(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return '';
  }
}

function parsed(mark: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(mark);
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}
