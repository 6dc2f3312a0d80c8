import assert from 'node:assert/strict';
import { Semaphore } from '../../../../nodelet/drivers/semaphore.ts';
import { SerialDriver } from '../../../../nodelet/drivers/serial-driver.ts';
import { systemClock } from '../../../../resources/ambient/system-clock.ts';
import { type DriverHost, driverContract } from '../contract.ts';
import { QemuHost } from './qemu-host.ts';
import { tinyLinux } from './tiny-linux.ts';

driverContract('qemu', async (): Promise<DriverHost | string> => {
  const image = await tinyLinux();
  if (typeof image === 'string') return image;
  const host = await QemuHost.make(image.imagesRoot);
  const open = async () => new SerialDriver(await host.open(), { clock: systemClock, coldStarts: new Semaphore(2) });
  try {
    await using _ = await open();
  } catch (error) {
    await host[Symbol.asyncDispose]();
    return error instanceof Error ? error.message : String(error);
  }
  return {
    open,
    image: { path: 'tiny-linux', digest: image.digest },
    missingImage: 'no-such-image',
    crash: (_driver, id) => host.kill(id),
    async incarnation(id) {
      const pid = await host.pid(id);
      assert.ok(pid !== undefined, `guest ${id} has a process`);
      return String(pid);
    },
    [Symbol.asyncDispose]: () => host[Symbol.asyncDispose](),
  };
});
