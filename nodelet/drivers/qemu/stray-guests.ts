import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DriverError, type ObservedGuest } from '../driver.ts';
import { guestFiles } from './guest-files.ts';
import type { HostProcesses } from './host-processes.ts';
import type { GuestHost } from './qemu-guest.ts';
import { killProcess } from './spawn-qemu.ts';

interface Stray {
  readonly pid: number;
  readonly startTime: string;
  /** What is known of it: its command line. */
  readonly guest: ObservedGuest;
}

/** How often they are looked for. */
const SEEK_MS = 60_000;
const LOOK_MS = 100;
const LOOKS = 100;
const MIB = 1024 ** 2;

/** What runs of guests whose folders are gone, or cannot be read: found by the command lines of this host's processes, told of, and ended only by `remove`. */
export class StrayGuests {
  readonly #dir: string;
  readonly #host: GuestHost;
  readonly #strays = new Map<string, Stray>();
  #soughtAt = Number.NEGATIVE_INFINITY;

  /** `dir` is where the folders of guests are. */
  constructor(dir: string, host: GuestHost) {
    this.#dir = dir;
    this.#host = host;
  }

  list(): readonly ObservedGuest[] {
    return [...this.#strays.values()].map((stray) => stray.guest);
  }

  /** Forgets those that ended or are `known` again, and looks for others: once a minute, or `now`. */
  async scan(known: (id: string) => boolean, when: 'in turn' | 'now' = 'in turn'): Promise<void> {
    const { clock, log, processes } = this.#host;
    for (const [id, stray] of this.#strays) if (known(id) || !(await this.#isThere(stray))) this.#forget(id);
    if (when === 'in turn' && clock.monotonic() - this.#soughtAt < SEEK_MS) return;
    this.#soughtAt = clock.monotonic();
    for (const stray of await straysBelow(this.#dir, processes)) {
      const { id, label } = stray.guest;
      if (known(id) || this.#strays.has(id)) continue;
      log.error('guest runs without its folder', { guest: id, label, pid: stray.pid });
      this.#strays.set(id, stray);
      this.#host.changed(id);
    }
  }

  /** Throws `Failed` if the guest is one of these: nothing but removing it is possible. */
  refuse(id: string): void {
    const stray = this.#strays.get(id);
    if (stray === undefined) return;
    const why = `its folder is gone and process ${stray.pid} still runs; only removing it ends it`;
    throw new DriverError('Failed', `guest ${stray.guest.label}: ${why}`);
  }

  /** Ends what runs of the guest. Throws `Failed` when it does not go. */
  async remove(id: string, signal: AbortSignal): Promise<void> {
    const stray = this.#strays.get(id);
    if (stray === undefined) return;
    if (await this.#isThere(stray)) killProcess(stray.pid);
    for (let looks = 0; await this.#isThere(stray); looks++) {
      if (looks === LOOKS) throw new DriverError('Failed', `process ${stray.pid} is still there after it was killed`);
      await this.#host.clock.sleep(LOOK_MS, signal);
    }
    const { dir, socketDir } = guestFiles(join(this.#dir, id), this.#host.sockets);
    if (socketDir !== dir) await rm(socketDir, { recursive: true, force: true });
    this.#forget(id);
  }

  async #isThere({ pid, startTime }: Stray): Promise<boolean> {
    return (await this.#host.processes.find(pid))?.startTime === startTime;
  }

  #forget(id: string): void {
    this.#strays.delete(id);
    this.#host.changed(id);
  }
}

/** The QEMUs whose command line names the pidfile of a guest below the folder. */
async function straysBelow(guestsDir: string, processes: HostProcesses): Promise<readonly Stray[]> {
  const start = join(guestsDir, '/');
  return (await processes.containing(start)).flatMap(({ pid, startTime, argv }) => {
    const guest = guestOf(argv, start);
    return guest === undefined ? [] : [{ pid, startTime, guest }];
  });
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
