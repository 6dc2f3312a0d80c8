import { join } from 'node:path';
import type { Clock } from '../../../resources/ambient/clock.ts';
import { DriverError, type ObservedGuest } from '../driver.ts';
import type { HostProcesses } from './host-processes.ts';
import { killProcess } from './spawn-qemu.ts';

/** A QEMU of this driver that runs without the folder of its guest. */
export interface StrayProcess {
  readonly pid: number;
  readonly startTime: string;
  /** What is known of it: its command line. */
  readonly guest: ObservedGuest;
}

const LOOK_MS = 100;
const LOOKS = 100;
const MIB = 1024 ** 2;

/** The QEMUs whose command line names a pidfile of a guest below `guestsDir`. */
export async function straysBelow(guestsDir: string, processes: HostProcesses): Promise<readonly StrayProcess[]> {
  const start = `${join(guestsDir, '/')}`;
  return (await processes.containing(start)).flatMap(({ pid, startTime, argv }) => {
    const guest = guestOf(argv, start);
    return guest === undefined ? [] : [{ pid, startTime, guest }];
  });
}

/** Whether it is still there, as the same process. */
export async function isThere({ pid, startTime }: StrayProcess, processes: HostProcesses): Promise<boolean> {
  return (await processes.find(pid))?.startTime === startTime;
}

/** Ends the process. Throws `Failed` when it does not go. */
export async function endStray(
  stray: StrayProcess,
  processes: HostProcesses,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  if (await isThere(stray, processes)) killProcess(stray.pid);
  for (let looks = 0; await isThere(stray, processes); looks++) {
    if (looks === LOOKS) throw new DriverError('Failed', `process ${stray.pid} is still there after it was killed`);
    await clock.sleep(LOOK_MS, signal);
  }
}

/** Arguments end with NUL or, where `ps` told them, with a space. */
function guestOf(argv: string, guestsDir: string): ObservedGuest | undefined {
  const after = argv.split(/-pidfile[\0 ]/).find((text) => text.startsWith(guestsDir));
  const id = /^([a-z0-9][a-z0-9-]{0,62})\/qemu\.pid[\0 ]/.exec(after?.slice(guestsDir.length) ?? '')?.[1];
  const label = /[\0 ]-name[\0 ]guest=((?:,,|[^,\0])*),/.exec(argv)?.[1]?.replaceAll(',,', ',');
  if (id === undefined || label === undefined) return undefined;
  return {
    ...{ id, label, power: 'Running', agentReady: undefined, guestOS: 'linux', addresses: [], imageDigest: '' },
    vcpus: Number(/[\0 ]-smp[\0 ](\d+)/.exec(argv)?.[1] ?? 0),
    memoryBytes: Number(/[\0 ]-m[\0 ](\d+)M/.exec(argv)?.[1] ?? 0) * MIB,
    // Its binding was noted in the folder; the first is what it was if it never moved.
    epoch: 1,
    startedFrom: 'cold',
    problem: { reason: 'FolderLost', message: 'its folder on the host is gone; deleting the VM ends what still runs' },
  };
}
