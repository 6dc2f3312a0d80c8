import { arch, availableParallelism, platform, userInfo } from 'node:os';
import { type Driver, DriverError } from '../../nodelet/drivers/driver.ts';
import { findQemu } from '../../nodelet/drivers/qemu/installation.ts';
import { machineProcesses } from '../../nodelet/drivers/qemu/machine-processes.ts';
import { QemuDriver } from '../../nodelet/drivers/qemu/qemu-driver.ts';
import { Semaphore } from '../../nodelet/drivers/semaphore.ts';
import { SerialDriver } from '../../nodelet/drivers/serial-driver.ts';
import type { FaultsFile } from '../../nodelet/drivers/sim/faults/faults-file.ts';
import { type Outside, plainOutside } from '../../nodelet/outside.ts';
import type { Clock } from '../../resources/ambient/clock.ts';
import type { Ids } from '../../resources/ambient/ids.ts';
import type { Logger } from '../../resources/ambient/log.ts';
import { Failure } from '../failure.ts';
import type { Home } from './home.ts';
import { openSimFleet } from './sim-fleet.ts';

export interface DriverDeps {
  readonly home: Home;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly random: () => number;
  readonly log: Logger;
}

/** The hosts to open: all of `simulated`, or the real one. */
export interface FleetWish {
  readonly driver: 'auto' | 'qemu' | 'sim';
  readonly simulated: readonly string[];
  readonly real: string;
  /** What simulated hosts do wrong. */
  readonly faults: FaultsFile | undefined;
}

/** One host to run: its name, its driver, and the group it is made in. */
export interface HostPlan {
  readonly name: string;
  /** Runs its nodelet until the signal aborts: `start` is told what it meets. Again and again where it is told to crash. */
  readonly run: (start: StartNodelet, signal: AbortSignal) => Promise<void>;
  readonly group: string | undefined;
  /** Set for real hosts: simulated ones are Macs. */
  readonly real: boolean;
}

type StartNodelet = (outside: Outside, signal: AbortSignal) => Promise<void>;

/** Runs a nodelet in the world as it is. */
export function runPlainly(driver: Driver): HostPlan['run'] {
  return (start, signal) => start(plainOutside(driver), signal);
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

/** Opens the drivers that the options ask for; `auto` is QEMU where it runs, else the simulated one. */
export async function openFleet(wish: FleetWish, deps: DriverDeps, signal: AbortSignal): Promise<Fleet> {
  if (wish.driver === 'sim') return openSimFleet(wish, deps, 'guests are simulated, as asked (--driver sim)');
  const architecture = arch() === 'arm64' ? 'aarch64' : 'x86_64';
  try {
    await findQemu(architecture, { clock: deps.clock }, signal);
  } catch (error) {
    signal.throwIfAborted();
    const fix = installHint(architecture);
    if (wish.driver === 'qemu') throw new Failure('QEMU is not installed', { hint: fix, cause: error });
    return openSimFleet(
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
    hosts: [{ name, run: runPlainly(driver), group: LOCAL_GROUP, real: true }],
    note: `guests run in ${version} (${accelerator}${acceleratorNote === undefined ? '' : `: ${acceleratorNote}`})`,
    [Symbol.asyncDispose]: () => driver[Symbol.asyncDispose](),
  };
}
