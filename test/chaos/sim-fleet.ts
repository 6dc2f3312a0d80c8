import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { hostIdentity } from '../../apiserver/auth/identity.ts';
import { ApiClient } from '../../apiserver/client/client.ts';
import { openFailover } from '../../apiserver/client/failover-transport.ts';
import { ServerChoice } from '../../apiserver/client/server-choice.ts';
import { openPki } from '../../apiserver/pki/pki-files.ts';
import { Semaphore } from '../../nodelet/drivers/semaphore.ts';
import { SerialDriver } from '../../nodelet/drivers/serial-driver.ts';
import { SimDriver } from '../../nodelet/drivers/sim/sim-driver.ts';
import type { SimGuest } from '../../nodelet/drivers/sim/sim-guests-file.ts';
import { runNodelet } from '../../nodelet/run-nodelet.ts';
import { silentLogger } from '../../resources/ambient/log.ts';
import { systemClock as clock } from '../../resources/ambient/system-clock.ts';
import { systemIds as ids } from '../../resources/ambient/system-ids.ts';
import { Host } from '../../resources/kinds/host.ts';
import { VM } from '../../resources/kinds/vm.ts';
import { memorySimHost } from '../nodelet/drivers/sim/memory-sim-host.ts';

const GIB = 1024 ** 3;
const CAPACITY = { vcpus: 64, memoryBytes: 256 * GIB, diskBytes: 1024 * GIB };

interface SimFleetOptions {
  readonly servers: readonly string[];
  /** The operator, who makes the Hosts. */
  readonly operator: ApiClient;
  /** The folder of keys that the servers share. */
  readonly pki: string;
  /** Where hosts keep what they know. */
  readonly folder: string;
  readonly hosts: number;
}

/** Simulated hosts in this process that reach the servers as hosts elsewhere do. Nothing happens to them. */
export class SimFleet implements AsyncDisposable {
  /** The guests of each host, by id. */
  readonly guests: ReadonlyMap<string, ReadonlyMap<string, SimGuest>>;
  readonly #held: AsyncDisposableStack;

  private constructor(guests: ReadonlyMap<string, ReadonlyMap<string, SimGuest>>, held: AsyncDisposableStack) {
    this.guests = guests;
    this.#held = held;
  }

  static async start(options: SimFleetOptions): Promise<SimFleet> {
    await using held = new AsyncDisposableStack();
    const guests = new Map<string, Map<string, SimGuest>>();
    for (let i = 0; i < options.hosts; i++) {
      const name = `sim-${i}`;
      const own = new Map<string, SimGuest>();
      guests.set(name, own);
      await startHost(name, own, options, held);
    }
    return new SimFleet(guests, held.move());
  }

  /** The hosts that have a guest of this id. */
  hostsOf(guestID: string): readonly string[] {
    return [...this.guests].filter(([, guests]) => guests.has(guestID)).map(([host]) => host);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#held[Symbol.asyncDispose]();
  }
}

async function startHost(
  name: string,
  guests: Map<string, SimGuest>,
  options: SimFleetOptions,
  held: AsyncDisposableStack,
): Promise<void> {
  const { servers, folder, operator } = options;
  const pki = await openPki(options.pki, ['127.0.0.1'], clock, ids);
  const { user, groups } = hostIdentity(name);
  const made = { apiVersion: 'coppice.dev/v1', kind: 'Host', metadata: { name }, spec: {} as Host['spec'] };
  const { metadata } = await operator.resource<Host>(Host).create(made);
  const organizations = groups.slice(0, 1);
  const leaf = await pki.issueClient({ commonName: user, organizations, serial: metadata.uid });
  const tls = { ca: pki.caCert, ...leaf };
  const choice = { servers: new ServerChoice(servers, Math.random), clock, random: Math.random };
  const client = new ApiClient(held.use(openFailover(choice, (server) => ({ server, ...tls }))).send);
  const sim = new SimDriver({
    host: memorySimHost(guests),
    capacity: CAPACITY,
    clock,
    startMs: { linux: 50, macos: 50 },
  });
  const driver = held.use(new SerialDriver(sim, { clock, coldStarts: new Semaphore(4) }));
  const root = join(folder, name);
  mkdirSync(root, { recursive: true });
  const ending = new AbortController();
  const nodelet = runNodelet(
    {
      name,
      driver,
      client,
      control: { servers: choice.servers, tls },
      clock,
      random: Math.random,
      log: silentLogger,
      root,
      storeIdentity: async (signal) => ({ uid: 'of the run', revision: await revisionOf(client, name, signal) }),
    },
    ending.signal,
  );
  held.defer(async () => {
    ending.abort(new Error('the host is stopping'));
    await nodelet.done;
  });
}

/** As a host may ask for it. */
async function revisionOf(client: ApiClient, host: string, signal: AbortSignal): Promise<number> {
  const { metadata } = await client.resource<VM>(VM).list({ limit: 1, fieldSelector: `spec.hostName=${host}` }, signal);
  return Number(metadata.resourceVersion);
}
