import { arch, availableParallelism, platform, userInfo } from 'node:os';
import { join } from 'node:path';
import { type Driver, DriverError, type HostCapacity } from '../../nodelet/drivers/driver.ts';
import { findQemu } from '../../nodelet/drivers/qemu/installation.ts';
import { machineProcesses } from '../../nodelet/drivers/qemu/machine-processes.ts';
import { QemuDriver } from '../../nodelet/drivers/qemu/qemu-driver.ts';
import { Semaphore } from '../../nodelet/drivers/semaphore.ts';
import { SerialDriver } from '../../nodelet/drivers/serial-driver.ts';
import { faultsOf, type SimFault } from '../../nodelet/drivers/sim/faults.ts';
import { SimDriver } from '../../nodelet/drivers/sim/sim-driver.ts';
import { SimGuestsFile } from '../../nodelet/drivers/sim/sim-guests-file.ts';
import type { Clock } from '../../resources/ambient/clock.ts';
import type { Ids } from '../../resources/ambient/ids.ts';
import type { Logger } from '../../resources/ambient/log.ts';
import { Failure } from '../failure.ts';
import type { Home } from './home.ts';

interface DriverDeps {
  readonly home: Home;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
}

/** The hosts to open: all of `simulated`, or the real one. */
export interface FleetWish {
  readonly driver: 'auto' | 'qemu' | 'sim';
  readonly simulated: readonly string[];
  readonly real: string;
  /** What simulated hosts do wrong. */
  readonly faults: readonly SimFault[];
}

/** One host to run: its name, its driver, and the group it is made in. */
export interface HostPlan {
  readonly name: string;
  readonly driver: Driver;
  readonly group: string | undefined;
  /** Set for real hosts: simulated ones are Macs. */
  readonly real: boolean;
}

/** The hosts of this process. Disposing it lets go of drivers; guests run on. */
export interface Fleet extends AsyncDisposable {
  readonly kind: 'qemu' | 'sim';
  readonly hosts: readonly HostPlan[];
  /** For people: what runs the guests, and why not something faster or realer. */
  readonly note: string;
}

/** The group that `up` on one machine puts its real host in. */
export const LOCAL_GROUP = 'local';
const GiB = 1024 ** 3;
/** Simulated Macs come in three sizes, in turn (ruling 25). */
const SIM_SIZES: readonly HostCapacity[] = [
  { vcpus: 8, memoryBytes: 16 * GiB, diskBytes: 512 * GiB },
  { vcpus: 12, memoryBytes: 32 * GiB, diskBytes: 1024 * GiB },
  { vcpus: 16, memoryBytes: 64 * GiB, diskBytes: 2048 * GiB },
];

/** Opens the drivers that the options ask for; `auto` is QEMU where it runs, else the simulated one. */
export async function openFleet(wish: FleetWish, deps: DriverDeps, signal: AbortSignal): Promise<Fleet> {
  if (wish.driver === 'sim') return openSim(wish, deps, 'guests are simulated, as asked (--driver sim)');
  const architecture = arch() === 'arm64' ? 'aarch64' : 'x86_64';
  try {
    await findQemu(architecture, { clock: deps.clock }, signal);
  } catch (error) {
    signal.throwIfAborted();
    const fix = installHint(architecture);
    if (wish.driver === 'qemu') throw new Failure('QEMU is not installed', { hint: fix, cause: error });
    return openSim(
      wish,
      deps,
      `QEMU is not installed, so guests are only simulated: nothing real runs. To change that: ${fix}`,
    );
  }
  return openQemu(wish.real, architecture, deps, signal).catch((error: unknown) => {
    if (!(error instanceof DriverError)) throw error;
    throw new Failure(`QEMU cannot run guests here: ${error.message}`, {
      hint: 'simulate them with --driver sim',
      cause: error,
    });
  });
}

function installHint(architecture: 'x86_64' | 'aarch64'): string {
  if (platform() === 'darwin') return 'brew install qemu';
  const system = architecture === 'x86_64' ? 'qemu-system-x86' : 'qemu-system-arm';
  return `apt-get install --no-install-recommends ${system} qemu-utils`;
}

async function openQemu(
  name: string,
  architecture: 'x86_64' | 'aarch64',
  deps: DriverDeps,
  signal: AbortSignal,
): Promise<Fleet> {
  const { home, clock, ids, log } = deps;
  const inner = await QemuDriver.open(
    {
      root: home.host(name),
      imagesRoot: home.images,
      clock,
      ids,
      log: log.child({ host: name }),
      processes: machineProcesses(clock),
      sockets: { root: '/tmp', userId: userInfo().uid },
      architecture,
      accelerator: 'auto',
      kvmDevice: '/dev/kvm',
    },
    signal,
  );
  const driver = new SerialDriver(inner, { clock, coldStarts: new Semaphore(availableParallelism()) });
  const { version, accelerator, acceleratorNote } = driver.capabilities;
  return {
    kind: 'qemu',
    hosts: [{ name, driver, group: LOCAL_GROUP, real: true }],
    note: `guests run in ${version} (${accelerator}${acceleratorNote === undefined ? '' : `: ${acceleratorNote}`})`,
    [Symbol.asyncDispose]: () => driver[Symbol.asyncDispose](),
  };
}

async function openSim(
  { simulated: names, faults }: FleetWish,
  { home, clock }: DriverDeps,
  note: string,
): Promise<Fleet> {
  const unknown = faults.find(({ host }) => host !== undefined && !names.includes(host));
  if (unknown !== undefined)
    throw new Failure(`--faults: there is no host "${unknown.host}"`, {
      hint: `there are ${names[0]} to ${names.at(-1)}`,
    });
  const path = join(home.path, 'hosts', 'sim-guests.json');
  const file = await SimGuestsFile.open(path, clock).catch((error: unknown) => {
    throw new Failure(error instanceof Error ? error.message : String(error), { cause: error });
  });
  const coldStarts = new Semaphore(Number.MAX_SAFE_INTEGER);
  const hosts = names.map((name, i): HostPlan => {
    const capacity = SIM_SIZES[sizeOf(name, i) % SIM_SIZES.length] as HostCapacity;
    const inner = new SimDriver({ host: file.host(name), capacity, clock, faults: faultsOf(faults, name) });
    return { name, driver: new SerialDriver(inner, { clock, coldStarts }), group: undefined, real: false };
  });
  return {
    kind: 'sim',
    hosts,
    note,
    async [Symbol.asyncDispose]() {
      for (const { driver } of hosts) await driver[Symbol.asyncDispose]();
      await file[Symbol.asyncDispose]();
    },
  };
}

/** Which size a simulated host has: by the number in its name, as others may come and go. */
function sizeOf(name: string, place: number): number {
  const number = /([0-9]+)$/.exec(name)?.[1];
  return number === undefined ? place : Math.max(0, Number(number) - 1);
}
