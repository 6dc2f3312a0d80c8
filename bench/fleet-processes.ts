import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ApiClient } from '../apiserver/client/client.ts';
import { HttpsTransport } from '../apiserver/client/https-transport.ts';
import { tokenIn } from '../apiserver/pki/admin-kubeconfig.ts';
import type { ControllersHealth } from '../controllers/run.ts';
import { Host } from '../resources/kinds/host.ts';
import { isTrue } from '../resources/meta/condition.ts';
import type { Backend } from './backend.ts';
import { CoppiceProcess } from './coppice-process.ts';
import type { BenchWorld } from './goal.ts';
import type { ServerAddress } from './server-process.ts';

const POLL_MS = 200;
const MAX_OUTPUT_BYTES = 16 << 20;

/**
 * A control plane in processes of its own as users run it: `coppice apiserver`, `coppice controllers`, and one `coppice nodelet` for all simulated
 * hosts, of which each has its own identity and speaks TLS.
 */
export class FleetProcesses {
  readonly address: ServerAddress;
  readonly client: ApiClient;
  readonly #world: BenchWorld;
  readonly #home: string;
  readonly #held: AsyncDisposableStack;
  readonly #server: CoppiceProcess;
  #nodelets: CoppiceProcess | undefined;
  #controllers: CoppiceProcess | undefined;
  #healthUrl = '';

  private constructor(
    world: BenchWorld,
    home: string,
    held: AsyncDisposableStack,
    server: CoppiceProcess,
    url: string,
  ) {
    this.#world = world;
    this.#home = home;
    this.#held = held;
    this.#server = server;
    const ca = readFileSync(join(home, 'pki', 'ca.crt'), 'utf8');
    const token = tokenIn(join(home, 'kubeconfig')) ?? '';
    this.address = { port: Number(new URL(url).port), token, ca };
    const transport = held.use(new HttpsTransport({ server: url, ca, authorization: async () => `Bearer ${token}` }));
    this.client = new ApiClient(transport.send);
  }

  /** Starts it on homes below the bench's folder, and resolves when every host takes VMs. What is started is left to `held`. */
  static async start(
    world: BenchWorld,
    name: string,
    { kind, args: [endpoint = '', root = ''] }: Backend,
    hosts: number,
    held: AsyncDisposableStack,
  ): Promise<FleetProcesses> {
    const home = join(world.folder, name);
    const store = kind === 'file' ? [] : ['--etcd', endpoint, '--etcd-root', root];
    const server = new CoppiceProcess(world, 'apiserver', ['apiserver', '--home', home, '--port', '0', ...store]);
    held.use(server);
    const [, url = ''] = await server.says(/on (https:\/\/[^\s,]+),[\s\S]*up in/);
    const fleet = new FleetProcesses(world, home, held, server, url);
    await fleet.startControllers();
    await fleet.#startHosts(hosts, url);
    return fleet;
  }

  async startControllers(): Promise<void> {
    const controllers = new CoppiceProcess(this.#world, 'controllers', [
      'controllers',
      '--home',
      this.#home,
      '--health-port',
      '0',
    ]);
    this.#held.use(controllers);
    this.#controllers = controllers;
    const [, url = ''] = await controllers.says(/health on (http:\/\/[^/]+)\//);
    this.#healthUrl = `${url}/status`;
  }

  /** With SIGKILL: nothing is handed on. */
  async killControllers(): Promise<void> {
    await this.#controllers?.kill();
  }

  /** Resolves when the controllers lead every duty, and none has anything left to look at. */
  async caughtUp(): Promise<void> {
    const { clock, signal } = this.#world;
    for (;;) {
      const { duties } = (await (await fetch(this.#healthUrl, { signal })).json()) as ControllersHealth;
      if (Object.values(duties).every(({ state, waiting }) => state === 'running' && waiting === 0)) return;
      await clock.sleep(POLL_MS / 10, signal);
    }
  }

  get processes(): readonly CoppiceProcess[] {
    return [this.#server, this.#controllers, this.#nodelets].filter((process) => process !== undefined);
  }

  async #startHosts(hosts: number, url: string): Promise<void> {
    const { clock, progress } = this.#world;
    const began = clock.monotonic();
    const home = `${this.#home}-hosts`;
    mkdirSync(home, { mode: 0o700 });
    const tokens = join(home, 'tokens');
    writeFileSync(tokens, await this.#run(['host', 'token', 'lab', '--count', `${hosts}`]), { mode: 0o600 });
    progress?.(`${hosts} tokens after ${seconds(clock.monotonic() - began)}`);
    const args = ['nodelet', '--home', home, '--server', url, '--token-file', tokens, '--driver', 'sim'];
    this.#nodelets = this.#held.use(new CoppiceProcess(this.#world, 'nodelet', args));
    await this.#nodelets.says(/up in/);
    progress?.(`${hosts} hosts started after ${seconds(clock.monotonic() - began)}`);
    await this.#schedulable(hosts);
    progress?.(`${hosts} hosts take VMs after ${seconds(clock.monotonic() - began)}`);
  }

  async #schedulable(hosts: number): Promise<void> {
    const { clock, signal } = this.#world;
    for (;;) {
      const { items } = await this.client.resource<Host>(Host).list({}, signal);
      if (items.filter((host) => isTrue(host, 'Schedulable')).length === hosts) return;
      await clock.sleep(POLL_MS, signal);
    }
  }

  /** What a command says that an operator gives. */
  async #run(args: readonly string[]): Promise<string> {
    const kubeconfig = ['--kubeconfig', join(this.#home, 'kubeconfig')];
    const program = join(this.#world.packageRoot, 'bin', 'run.js');
    const { stdout } = await promisify(execFile)(process.execPath, [program, ...args, ...kubeconfig], {
      maxBuffer: MAX_OUTPUT_BYTES,
    });
    return stdout;
  }
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
