import { join } from 'node:path';
import { procProcesses } from '../nodelet/drivers/qemu/host-processes.ts';
import { QemuDriver } from '../nodelet/drivers/qemu/qemu-driver.ts';
import { silentLogger } from '../resources/ambient/log.ts';
import { BenchVMs } from './bench-vms.ts';
import { CoppiceUp } from './coppice-up.ts';
import type { BenchWorld, Goal } from './goal.ts';
import { ARCHITECTURE, GuestWorld, SOCKETS } from './guest-world.ts';
import { controlPlus } from './harness.ts';

const HOME = 'guest-start';

/** Goal 22: creating a VM to its agent's first answer, against a bare start of the same command line; and how much of it is the driver's. */
export const guestStart: Goal = {
  names: ['22', 'guest-start'],
  async open(world, held) {
    const guests = await GuestWorld.open(world);
    await guests.makeHome(HOME);
    const up = held.use(await CoppiceUp.start(world, HOME, ['--driver', 'qemu'], /up in/));
    const vms = new BenchVMs(up.client(held), world.signal);
    held.defer(() => vms.removeAll());
    // The quickstart's own guest would take part of the machine.
    await vms.removeAll();
    const driver = held.use(await openDriver(world, guests));
    const control = { title: 'bare QEMU to agent', take: () => guests.timeBareStart() };
    return [
      {
        goal: '22',
        title: 'create VM to agent answers, TCG',
        unit: 'ms',
        async ours(round) {
          const took = await vms.timeStart(`start-${round}`, world.clock);
          await vms.remove(`start-${round}`);
          return took;
        },
        control,
        must: controlPlus(500),
        great: controlPlus(200),
      },
      {
        goal: '22',
        title: 'of it, through the driver alone',
        unit: 'ms',
        ours: (round) => throughDriver(driver, guests, `guest-${round}`, world),
        control,
      },
    ];
  },
};

function openDriver({ folder, clock, ids, signal }: BenchWorld, { imagesRoot }: GuestWorld): Promise<QemuDriver> {
  return QemuDriver.open(
    {
      root: join(folder, 'driver'),
      imagesRoot,
      clock,
      ids,
      log: silentLogger,
      processes: procProcesses('/proc'),
      sockets: SOCKETS,
      architecture: ARCHITECTURE,
      accelerator: 'tcg',
      kvmDevice: '/dev/kvm',
    },
    signal,
  );
}

async function throughDriver(
  driver: QemuDriver,
  guests: GuestWorld,
  id: string,
  { clock, signal }: BenchWorld,
): Promise<number> {
  const began = clock.monotonic();
  const ended = new AbortController();
  const changes = driver.changes(ended.signal);
  await driver.create(guests.guest(id), signal);
  await driver.start(id, signal);
  for await (const _ of changes)
    if ((await driver.list(signal)).some((guest) => guest.id === id && guest.agentReady === true)) break;
  const took = clock.monotonic() - began;
  ended.abort();
  await driver.remove(id, signal);
  return took;
}
