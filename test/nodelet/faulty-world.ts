import { ApiClient } from '../../apiserver/client/client.ts';
import { Semaphore } from '../../nodelet/drivers/semaphore.ts';
import { SerialDriver } from '../../nodelet/drivers/serial-driver.ts';
import type { Fault } from '../../nodelet/drivers/sim/faults/fault.ts';
import { HostFaults } from '../../nodelet/drivers/sim/faults/host-faults.ts';
import { HostLives } from '../../nodelet/drivers/sim/faults/host-lives.ts';
import { SimDriver } from '../../nodelet/drivers/sim/sim-driver.ts';
import type { SimGuest } from '../../nodelet/drivers/sim/sim-guests-file.ts';
import { runNodelet } from '../../nodelet/run-nodelet.ts';
import { lineLogger, silentLogger } from '../../resources/ambient/log.ts';
import { MemorySimDisk } from './drivers/sim/memory-sim-host.ts';
import { NodeletWorld } from './nodelet-world.ts';

const GIB = 1024 ** 3;
const HOST = 'mac-1';

/** One simulated host with faults, its disk, and its nodelet, on a clock of the test's own. */
export class FaultyWorld implements AsyncDisposable {
  /** The server and the clock; its own driver and nodelet are not used. */
  readonly world: NodeletWorld;
  readonly faults: HostFaults;
  /** What was logged of faults. */
  readonly lines: string[] = [];
  /** How often the nodelet was started. */
  lives = 0;
  readonly #disk = new MemorySimDisk();
  readonly #ending = new AbortController();
  #running: Promise<void> = Promise.resolve();

  private constructor(world: NodeletWorld, faults: readonly Fault[]) {
    this.world = world;
    const { clock } = world;
    const log = lineLogger(
      (line) => this.lines.push(line.split(' ').slice(2).join(' ')),
      () => clock.now(),
    );
    this.faults = new HostFaults({ host: HOST, faults, seed: 1, clock, log });
  }

  static async make(faults: readonly Fault[] = []): Promise<FaultyWorld> {
    return new FaultyWorld(await NodeletWorld.make(), faults);
  }

  start(): void {
    const { faults } = this;
    const { clock, api, root } = this.world;
    const capacity = { vcpus: 8, memoryBytes: 16 * GIB, diskBytes: 256 * GIB };
    const lives = new HostLives({
      host: HOST,
      faults,
      clock,
      onCrash: () => this.#disk.kill(),
      openDriver: async (reach) => {
        const inner = new SimDriver({ host: this.#disk.open(), capacity, clock, faults, reach });
        return new SerialDriver(inner, { clock, coldStarts: new Semaphore(2) });
      },
    });
    this.#running = lives.run((outside, signal) => {
      this.lives += 1;
      return runNodelet(
        {
          name: HOST,
          driver: outside.driver,
          client: new ApiClient(outside.transport(api.transport)),
          clock: outside.clock(clock),
          random: () => 0.5,
          log: silentLogger,
          root,
          storeIdentity: (s) => outside.ask(async () => ({ uid: api.storeUID, revision: api.revision }), s),
        },
        signal,
      ).done;
    }, this.#ending.signal);
    // One that fails fails the test that waits for it.
    this.#running.catch(() => {});
  }

  /** The guests that are on the disk. */
  guests(): readonly SimGuest[] {
    return [...this.#disk.saved.values()];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort();
    await this.#running;
    this.faults[Symbol.dispose]();
    await this.world[Symbol.asyncDispose]();
  }
}
