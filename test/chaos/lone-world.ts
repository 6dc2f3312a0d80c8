import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Transport } from '../../apiserver/client/transport.ts';
import type { ChaosWorld, Fault } from './chaos-world.ts';
import { ServerProcess } from './server-process.ts';

/** A whole control plane in one process, its state in a file. */
export class LoneWorld implements ChaosWorld {
  readonly servers: readonly Transport[];
  readonly faults: readonly Fault[];
  readonly #held: AsyncDisposableStack;

  private constructor(held: AsyncDisposableStack, server: ServerProcess) {
    this.#held = held;
    this.servers = [server.send];
    this.faults = faultsOf(server);
  }

  /** Resolves when it serves. */
  static async start(): Promise<LoneWorld> {
    await using held = new AsyncDisposableStack();
    const home = await mkdtemp(join(tmpdir(), 'coppice-chaos-'));
    held.defer(() => rm(home, { recursive: true, force: true }));
    const args = ['--driver', 'sim', '--hosts', '1', '--no-quickstart'];
    const server = held.use(new ServerProcess('up', home, args));
    await server.start();
    return new LoneWorld(held.move(), server);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#held[Symbol.asyncDispose]();
  }
}

/** A kill is over when the process serves again: killed while it starts it would never do anything. */
function faultsOf(server: ServerProcess): readonly Fault[] {
  const target = 'server 0';
  const kill = async () => {
    await server.kill();
    return () => server.startAgain();
  };
  const pause = async () => {
    server.pause();
    return async () => server.resume();
  };
  return [
    { name: 'kill', target, begin: kill },
    { name: 'pause', target, begin: pause },
  ];
}
