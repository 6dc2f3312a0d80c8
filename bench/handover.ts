import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { ApiClient } from '../apiserver/client/client.ts';
import { HttpsTransport } from '../apiserver/client/https-transport.ts';
import { writeAdminKubeconfig } from '../apiserver/pki/admin-kubeconfig.ts';
import { Tenant } from '../resources/kinds/tenant.ts';
import type { BenchWorld, Goal } from './goal.ts';
import { atMost } from './harness.ts';
import { makeServerFolder, startServerProcess } from './server-process.ts';

const POLL_MS = 10;

/** From SIGKILL of the process that leads to the first write of the one that stood by: a Tenant made meanwhile gets its network. */
export const handover: Goal = {
  names: ['handover'],
  async open(world, held) {
    const fleet = await Fleet.start(world, held);
    return [
      {
        goal: 'handover',
        title: 'killed leader to first write of the next',
        unit: 'ms',
        ours: (round) => fleet.handOver(`round-${round}-${world.ids.suffix(5)}`),
        must: atMost(5_000, 'ms'),
      },
    ];
  },
};

/** A server, a process of controllers that leads, and one that stands by; each handover makes a new one stand by. */
class Fleet {
  readonly #world: BenchWorld;
  readonly #client: ApiClient;
  readonly #kubeconfig: string;
  readonly #held: AsyncDisposableStack;
  #leader: ControllersProcess;
  #standby: ControllersProcess;

  private constructor(
    world: BenchWorld,
    client: ApiClient,
    kubeconfig: string,
    held: AsyncDisposableStack,
    pair: readonly [ControllersProcess, ControllersProcess],
  ) {
    this.#world = world;
    this.#client = client;
    this.#kubeconfig = kubeconfig;
    this.#held = held;
    [this.#leader, this.#standby] = pair;
  }

  static async start(world: BenchWorld, held: AsyncDisposableStack): Promise<Fleet> {
    const folder = await makeServerFolder(world, 'handover');
    const { port, token, ca } = held.use(await startServerProcess(world, 'api-server-process.ts', folder));
    const server = `https://127.0.0.1:${port}`;
    const kubeconfig = join(folder, 'kubeconfig');
    writeAdminKubeconfig(kubeconfig, { server, caCert: ca, token });
    const transport = held.use(new HttpsTransport({ server, ca, authorization: async () => `Bearer ${token}` }));
    const leader = held.use(new ControllersProcess(world, kubeconfig));
    await leader.says('leads tenant');
    const standby = held.use(new ControllersProcess(world, kubeconfig));
    await standby.says('stands by');
    return new Fleet(world, new ApiClient(transport.send), kubeconfig, held, [leader, standby]);
  }

  async handOver(name: string): Promise<number> {
    const { clock } = this.#world;
    const tenants = this.#client.resource<Tenant>(Tenant);
    // A leader does not die at the moment it renewed, nor is one killed at the same point of its rhythm each time.
    await clock.sleep(Math.random() * 1_300);
    this.#leader.kill();
    const killedMs = clock.monotonic();
    await tenants.create({ apiVersion: 'coppice.dev/v1', kind: 'Tenant', metadata: { name }, spec: {} });
    while ((await tenants.get(name)).status?.networkIndex === undefined) await clock.sleep(POLL_MS, this.#world.signal);
    const tookMs = clock.monotonic() - killedMs;
    this.#leader = this.#standby;
    this.#standby = this.#held.use(new ControllersProcess(this.#world, this.#kubeconfig));
    await this.#standby.says('stands by');
    return tookMs;
  }
}

class ControllersProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  #said = '';
  #heard = () => {};

  constructor({ packageRoot }: BenchWorld, kubeconfig: string) {
    const args = [join(packageRoot, 'bin', 'run.js'), 'controllers', '--kubeconfig', kubeconfig];
    this.#child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] });
    this.#exited = once(this.#child, 'exit');
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#said += text;
      this.#heard();
    });
  }

  async says(words: string): Promise<void> {
    while (!this.#said.includes(words)) {
      const heard = new Promise<void>((resolve) => {
        this.#heard = resolve;
      });
      await Promise.race([heard, this.#exited.then(() => Promise.reject(new Error(`it ended: ${this.#said}`)))]);
    }
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.kill();
    await this.#exited;
  }
}
