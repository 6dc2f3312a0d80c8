import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Transport } from '../../apiserver/client/transport.ts';
import { temporaryFolder } from '../harness/temporary-folder.ts';
import type { ChaosWorld, Fault } from './chaos-world.ts';
import { processFaults } from './process-faults.ts';
import { ServerProcess } from './server-process.ts';

/** A whole control plane in one process, its state in a file. */
export class LoneWorld implements ChaosWorld {
  readonly servers: readonly Transport[];
  readonly faults: readonly Fault[];
  readonly #held: AsyncDisposableStack;

  private constructor(held: AsyncDisposableStack, server: ServerProcess) {
    this.#held = held;
    this.servers = [server.send];
    this.faults = processFaults(server.place, 'server 0', true);
  }

  /** Resolves when it serves. */
  static async start(): Promise<LoneWorld> {
    await using held = new AsyncDisposableStack();
    const home = await temporaryFolder(join(tmpdir(), 'coppice-chaos-'), held);
    const args = ['--driver', 'sim', '--hosts', '1', '--no-quickstart'];
    const server = held.use(await ServerProcess.start('up', home, args));
    return new LoneWorld(held.move(), server);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#held[Symbol.asyncDispose]();
  }
}
