import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ApiClient } from '../../apiserver/client/client.ts';
import { openFailover } from '../../apiserver/client/failover-transport.ts';
import { ServerChoice } from '../../apiserver/client/server-choice.ts';
import type { Transport } from '../../apiserver/client/transport.ts';
import { systemClock as clock } from '../../resources/ambient/system-clock.ts';
import { Host } from '../../resources/kinds/host.ts';
import { UpProcess } from '../cli/up/up-process.ts';
import { EtcdCluster, type EtcdMember } from '../harness/etcd-cluster.ts';
import { temporaryFolder } from '../harness/temporary-folder.ts';
import type { ChaosWorld, Fault } from './chaos-world.ts';
import { processFaults } from './process-faults.ts';
import { ProcessPlace } from './process-place.ts';
import { ServerProcess } from './server-process.ts';

interface FleetProcessesOptions {
  readonly store: 'sqlite' | 'etcd';
  /** Of the faults of simulated hosts. */
  readonly seed: number;
  /** Processes of each; 2 when absent. */
  readonly controllers?: number;
  readonly nodelets?: number;
}

const ENROLL_MS = 60_000;
const HOSTS_EACH = 2;

/** What goes wrong on hosts by itself. */
const simFaults = (seed: number) => `
seed: ${seed}
faults:
  - {fault: FailedOperation, probability: 0.1}
  - {fault: FailedOperation, operation: Remove, probability: 0.2}
  - {fault: SlowOperation, operation: Stop, takes: 1s..4s, probability: 0.2}
  - {fault: LostGuest, after: 5s, every: 5s..20s}
  - {fault: CrashedGuest, after: 5s, every: 5s..20s}
  - {fault: NodeletCrash, step: Any, for: 1s, probability: 0.02}
  - {fault: Partition, after: 5s..15s, for: 1s..4s, every: 10s..30s}
`;

/** A fleet of real processes: API servers over a store, processes of controllers, and processes of nodelets with two simulated Macs each. Any of them may be killed, and halted. */
export class FleetProcesses implements ChaosWorld {
  readonly servers: readonly Transport[];
  readonly faults: readonly Fault[];
  /** The operator's, at whichever server answers. */
  readonly client: ApiClient;
  readonly #held: AsyncDisposableStack;

  private constructor(held: AsyncDisposableStack, parts: Pick<FleetProcesses, 'servers' | 'faults' | 'client'>) {
    this.#held = held;
    this.servers = parts.servers;
    this.faults = parts.faults;
    this.client = parts.client;
  }

  /** Resolves when hosts and controllers are there. */
  static async start({ store, seed, controllers = 2, nodelets = 2 }: FleetProcessesOptions): Promise<FleetProcesses> {
    await using held = new AsyncDisposableStack();
    const folder = await temporaryFolder(join(tmpdir(), 'coppice-fleet-'), held);
    const etcd = store === 'etcd' ? held.use(await EtcdCluster.start(1)) : undefined;
    const servers: ServerProcess[] = [];
    for (let i = 0; i < (etcd === undefined ? 1 : 2); i++) {
      const members = etcd?.members.map(({ clientPort }) => `127.0.0.1:${clientPort}`).join();
      const args = members === undefined ? [] : ['--pki', join(folder, 'pki'), '--etcd', members];
      servers.push(held.use(await ServerProcess.start('apiserver', join(folder, `server-${i}`), args)));
    }
    const [first] = servers as [ServerProcess];
    const urls = servers.map(({ url }) => url);
    const choice = new ServerChoice(urls, Math.random);
    const connectionTo = (server: string) => ({ ...first.connection, server });
    const transport = held.use(openFailover({ servers: choice, clock, random: Math.random }, connectionTo));
    const client = new ApiClient(transport.send);
    const reached = urls.flatMap((url) => ['--server', url]);
    const places = await startOthers({ folder, home: first.home, reached, client, seed, controllers, nodelets }, held);
    const stored = etcd?.members.map((member, i) => pauseOf(member, `etcd ${i}`)) ?? [];
    return new FleetProcesses(held.move(), {
      client,
      servers: servers.map(({ send }) => send),
      faults: [
        ...servers.flatMap(({ place }, i) => processFaults(place, `server ${i}`)),
        ...[...places].flatMap(([target, place]) => processFaults(place, target)),
        ...stored,
      ],
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#held[Symbol.asyncDispose]();
  }
}

function pauseOf(member: EtcdMember, target: string): Fault {
  const begin = async () => {
    member.pause();
    return async () => member.resume();
  };
  return { name: 'pause', target, begin };
}

interface Others {
  readonly folder: string;
  /** Of the first server: controllers have their credentials there. */
  readonly home: string;
  readonly reached: readonly string[];
  readonly client: ApiClient;
  readonly seed: number;
  readonly controllers: number;
  readonly nodelets: number;
}

async function startOthers(others: Others, held: AsyncDisposableStack): Promise<ReadonlyMap<string, ProcessPlace>> {
  const { folder, home, reached, client, seed } = others;
  const places = new Map<string, ProcessPlace>();
  for (let i = 0; i < others.controllers; i++) {
    const options = { command: 'controllers' as const, home, args: reached, ready: /stands by for|leads / };
    places.set(`controllers ${i}`, held.use(new ProcessPlace(options)));
  }
  const enrolled: Promise<void>[] = [];
  for (let i = 0; i < others.nodelets; i++) {
    const own = join(folder, `nodelet-${i}`);
    await mkdir(own, { recursive: true });
    const faults = join(own, 'faults.yaml');
    await writeFile(faults, simFaults(seed + i));
    const names = Array.from({ length: HOSTS_EACH }, (_, n) => `mac-${i * HOSTS_EACH + n + 1}`);
    enrolled.push(enroll(own, names, reached, client));
    const args = ['--driver', 'sim', '--faults', faults];
    const options = { command: 'nodelet' as const, home: own, args, ready: /up in [0-9.]+ s/ };
    places.set(`nodelet ${i}`, held.use(new ProcessPlace(options)));
  }
  await Promise.all(enrolled);
  await Promise.all([...places.values()].map((place) => place.start()));
  return places;
}

/** Lets hosts in, and ends the process that did it: from then on they need no token. */
async function enroll(
  home: string,
  names: readonly string[],
  reached: readonly string[],
  client: ApiClient,
): Promise<void> {
  const tokens: string[] = [];
  for (const name of names) {
    const made = { apiVersion: 'coppice.dev/v1', kind: 'Host', metadata: { name }, spec: {} as Host['spec'] };
    await client.resource<Host>(Host).create(made);
    const path = client.resource<Host>(Host).path(name, 'token');
    const body = Buffer.from(JSON.stringify({ apiVersion: 'coppice.dev/v1', kind: 'HostToken', spec: {} }));
    const headers = { 'content-type': 'application/json' };
    const answer = (await client.json({ method: 'POST', path, headers, body })) as { status: { token: string } };
    tokens.push(answer.status.token);
  }
  const file = join(home, 'tokens');
  await writeFile(file, `${tokens.join('\n')}\n`, { mode: 0o600 });
  const args = [...reached, '--token-file', file, '--driver', 'sim'];
  await using first = new UpProcess(home, args, { COPPICE_SETUP: 'skip', KUBECONFIG: '' }, 'nodelet');
  await first.says(/up in [0-9.]+ s/, ENROLL_MS);
}
