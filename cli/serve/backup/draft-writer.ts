import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import type { DraftWriter } from '../../../apiserver/backup/stale-drafts.ts';
import type { HostProcesses } from '../../../nodelet/drivers/qemu/host-processes.ts';

const short = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 8);

/** This process as a writer of drafts. Of one on another machine, in another container or before the last boot it is not known whether it ended. */
export async function draftWriter(processes: HostProcesses, pid: number): Promise<DraftWriter> {
  const machine = short(`${hostname()} ${await processes.bootId()}`);
  const own = await processes.find(pid);
  return {
    tag: [pid, machine, short(own?.startTime ?? '')].join('-'),
    async isGone(tag) {
      const [theirs = '', where, started] = tag.split('-');
      if (where !== machine) return false;
      const found = await processes.find(Number(theirs));
      return found === undefined || short(found.startTime) !== started;
    },
  };
}
