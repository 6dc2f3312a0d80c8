import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Semaphore } from '../../../../nodelet/drivers/semaphore.ts';
import { SerialDriver } from '../../../../nodelet/drivers/serial-driver.ts';
import { SimDriver } from '../../../../nodelet/drivers/sim/sim-driver.ts';
import { SimGuestsFile } from '../../../../nodelet/drivers/sim/sim-guests-file.ts';
import { systemClock } from '../../../../resources/ambient/system-clock.ts';
import { type DriverHost, driverContract } from '../contract.ts';

const GIB = 1024 ** 3;

driverContract('sim', async (): Promise<DriverHost> => {
  const root = await mkdtemp(join(tmpdir(), 'coppice-sim-'));
  const file = join(root, 'guests.json');
  let naive: SimDriver | undefined;
  const open = async () => {
    // Each driver reads the file anew, as another process would.
    const guests = await SimGuestsFile.open(file, systemClock);
    naive = new SimDriver({
      host: guests.host('mac-1'),
      capacity: { vcpus: 8, memoryBytes: 16 * GIB, diskBytes: 256 * GIB },
      clock: systemClock,
      startMs: { linux: 30, macos: 60 },
    });
    return new SerialDriver(naive, { clock: systemClock, coldStarts: new Semaphore(2) });
  };
  const probe = await open();
  const image = await probe.image('tiny-linux', new AbortController().signal);
  assert.ok(image);
  return {
    open,
    image: { path: 'tiny-linux', digest: image.digest },
    missingImage: undefined,
    async crash(_driver, id) {
      const guest = (await naive?.list(new AbortController().signal))?.find((g) => g.id === id);
      await naive?.inject([{ fault: 'CrashedGuest', vms: [guest?.label ?? ''] }]);
    },
    async incarnation(id) {
      const guest = (await naive?.list(new AbortController().signal))?.find((g) => g.id === id);
      return String(guest?.startedAt);
    },
    async [Symbol.asyncDispose]() {
      await rm(root, { recursive: true, force: true });
    },
  };
});
