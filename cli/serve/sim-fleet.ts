import { join } from 'node:path';
import type { HostCapacity } from '../../nodelet/drivers/driver.ts';
import { Semaphore } from '../../nodelet/drivers/semaphore.ts';
import { SerialDriver } from '../../nodelet/drivers/serial-driver.ts';
import { means } from '../../nodelet/drivers/sim/faults/fault.ts';
import { HostFaults } from '../../nodelet/drivers/sim/faults/host-faults.ts';
import { HostLives } from '../../nodelet/drivers/sim/faults/host-lives.ts';
import { SimDriver } from '../../nodelet/drivers/sim/sim-driver.ts';
import { SimGuestsFile } from '../../nodelet/drivers/sim/sim-guests-file.ts';
import type { Clock } from '../../resources/ambient/clock.ts';
import type { Logger } from '../../resources/ambient/log.ts';
import { Failure } from '../failure.ts';
import { type DriverDeps, type Fleet, type FleetWish, type HostPlan, runPlainly } from './drivers.ts';
import { checkFaultyHosts } from './faulty-hosts.ts';

const GiB = 1024 ** 3;
/** Simulated Macs come in three sizes, in turn (ruling 25). */
const SIM_SIZES: readonly HostCapacity[] = [
  { vcpus: 8, memoryBytes: 16 * GiB, diskBytes: 512 * GiB },
  { vcpus: 12, memoryBytes: 32 * GiB, diskBytes: 1024 * GiB },
  { vcpus: 16, memoryBytes: 64 * GiB, diskBytes: 2048 * GiB },
];

interface SimParts {
  readonly file: SimGuestsFile;
  readonly coldStarts: Semaphore;
  readonly clock: Clock;
  readonly log: Logger;
  readonly wish: FleetWish;
  readonly seed: number;
}

/** Opens simulated hosts. Throws a `Failure` when their guests cannot be read, or their faults are for other hosts. */
export async function openSimFleet(wish: FleetWish, deps: DriverDeps, note: string): Promise<Fleet> {
  const { simulated: names, faults } = wish;
  const { home, clock, random, log } = deps;
  checkFaultyHosts(faults, names);
  const path = join(home.path, 'hosts', 'sim-guests.json');
  const file = await SimGuestsFile.open(path, clock).catch((error: unknown) => {
    throw new Failure(error instanceof Error ? error.message : String(error), { cause: error });
  });
  await using opening = new AsyncDisposableStack();
  opening.use(file);
  const seed = faults?.seed ?? Math.floor(random() * 2 ** 32);
  const parts = { file, coldStarts: new Semaphore(Number.MAX_SAFE_INTEGER), clock, log, wish, seed };
  const hosts = names.map((name, i) => {
    const capacity = SIM_SIZES[sizeOf(name, i) % SIM_SIZES.length] as HostCapacity;
    return openHost(name, capacity, parts, opening);
  });
  const held = opening.move();
  return {
    kind: 'sim',
    hosts,
    note: faults === undefined ? note : `${note}; faults of ${faults.name}, seed ${seed}`,
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

/** A host, with what goes wrong on it between its nodelet and all else. */
function openHost(name: string, capacity: HostCapacity, parts: SimParts, held: AsyncDisposableStack): HostPlan {
  const { file, coldStarts, clock, wish, seed } = parts;
  const mine = wish.faults?.faults.filter((fault) => means(fault.hosts, name)) ?? [];
  if (wish.faults === undefined || mine.length === 0) {
    const inner = new SimDriver({ host: file.host(name), capacity, clock });
    const driver = held.use(new SerialDriver(inner, { clock, coldStarts }));
    return { name, run: runPlainly(driver), group: undefined, real: false };
  }
  const log = parts.log.child({ host: name });
  // All of them, as the place in the file is what chance goes by.
  const faults = held.use(new HostFaults({ host: name, faults: wish.faults.faults, seed, clock, log }));
  const lives = new HostLives({
    host: name,
    faults,
    clock,
    onCrash: () => file.kill(name),
    async openDriver(reach) {
      const inner = new SimDriver({ host: await file.reopen(name), capacity, clock, faults, reach });
      return new SerialDriver(inner, { clock, coldStarts });
    },
  });
  return { name, run: (start, signal) => lives.run(start, signal), group: undefined, real: false };
}

/** Which size a simulated host has: by the number in its name, as others may come and go. */
function sizeOf(name: string, place: number): number {
  const number = /([0-9]+)$/.exec(name)?.[1];
  return number === undefined ? place : Math.max(0, Number(number) - 1);
}
