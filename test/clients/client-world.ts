import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Home, openHome } from '../../cli/serve/home.ts';
import { ALONE } from '../../cli/serve/server-options.ts';
import { type StartedServer, startServer } from '../../cli/serve/start-server.ts';
import { Controllers } from '../../controllers/run.ts';
import { silentLogger } from '../../resources/ambient/log.ts';
import { systemClock } from '../../resources/ambient/system-clock.ts';
import { systemIds } from '../../resources/ambient/system-ids.ts';

/** What other people's clients talk to: the server of `coppice up` with its file, its TLS and the controllers, but no hosts. */
export class ClientWorld implements AsyncDisposable {
  readonly home: Home;
  readonly port: number;
  #held: AsyncDisposableStack;
  #started: StartedServer;

  private constructor(home: Home, held: AsyncDisposableStack, started: StartedServer) {
    this.home = home;
    this.#held = held;
    this.#started = started;
    this.port = Number(new URL(started.url).port);
  }

  static async open(): Promise<ClientWorld> {
    const home = openHome(await mkdtemp(join(tmpdir(), 'coppice-clients-')));
    const held = new AsyncDisposableStack();
    return new ClientWorld(home, held, await start(home, 0, held));
  }

  /** The operator's, written by the server. */
  get kubeconfig(): string {
    return this.home.kubeconfig;
  }

  /** Stops the server and starts another over the same file and on the same port; `forgetting` all history, so that whoever goes on from before is told 410. */
  async restart({ forgetting = false } = {}): Promise<void> {
    if (forgetting) await this.#started.store.compact(this.#started.store.revision());
    await this.#held.disposeAsync();
    this.#held = new AsyncDisposableStack();
    this.#started = await start(this.home, this.port, this.#held);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#held.disposeAsync();
    await rm(this.home.path, { recursive: true, force: true });
  }
}

async function start(home: Home, port: number, held: AsyncDisposableStack): Promise<StartedServer> {
  const deps = { clock: systemClock, ids: systemIds, random: Math.random, log: silentLogger };
  const started = await startServer({ ...ALONE, ...deps, home, store: { kind: 'sqlite' }, port }, held);
  const groups = ['system:controllers', 'system:authenticated'];
  held.use(new Controllers({ ...deps, transportFor: (user) => started.server.transportFor({ user, groups }) }));
  return started;
}
