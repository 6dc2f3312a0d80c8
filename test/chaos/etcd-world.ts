import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ApiClient } from '../../apiserver/client/client.ts';
import type { Transport } from '../../apiserver/client/transport.ts';
import type { Random } from '../fuzz/random.ts';
import { CutProxy } from '../harness/cut-proxy.ts';
import { EtcdCluster, type EtcdMember } from '../harness/etcd-cluster.ts';
import { temporaryFolder } from '../harness/temporary-folder.ts';
import type { ChaosWorld, Fault } from './chaos-world.ts';
import { processFaults } from './process-faults.ts';
import { ProcessPlace } from './process-place.ts';
import { ServerProcess } from './server-process.ts';
import { SimFleet } from './sim-fleet.ts';
import { VmWorkload } from './vm-workload.ts';

interface EtcdWorldOptions {
  readonly servers: number;
  readonly members: number;
  /** Processes of controllers; with them VMs come and go on simulated hosts. 0: none of that. */
  readonly controllers: number;
}

const SIM_HOSTS = 3;
/** Longer than a server counts that says nothing: then the one that is left need not ask etcd. */
const ALONE_MS = 7_000;

/** API servers as processes over a real etcd of several members, each on its own relays to every member; and processes of controllers. */
export class EtcdWorld implements ChaosWorld {
  readonly servers: readonly Transport[];
  readonly faults: readonly Fault[];
  readonly work?: VmWorkload;
  readonly #held: AsyncDisposableStack;

  private constructor(held: AsyncDisposableStack, { cluster, places, controllers, work }: Parts) {
    this.#held = held;
    this.servers = places.map(({ server }) => server.send);
    if (work !== undefined) this.work = work;
    this.faults = [
      ...places.flatMap(({ server, relays }, i) => faultsOfServer(server, relays, `server ${i}`, cluster)),
      ...cluster.members.flatMap((member, i) =>
        faultsOfMember(
          member,
          places.map(({ relays }) => relays[i] as CutProxy),
        ),
      ),
      leaderFault(cluster),
      ...(places.length > 1 ? [loneliness(places)] : []),
      compaction(cluster),
      ...controllers.flatMap((place, i) => processFaults(place, `controllers ${i}`)),
    ];
  }

  /** Resolves when all servers serve, and hosts and controllers are there. */
  static async start(options: EtcdWorldOptions, random: Random): Promise<EtcdWorld> {
    await using held = new AsyncDisposableStack();
    const folder = await temporaryFolder(join(tmpdir(), 'coppice-chaos-'), held);
    const cluster = held.use(await EtcdCluster.start(options.members));
    const places: Place[] = [];
    for (let i = 0; i < options.servers; i++) {
      const relays: CutProxy[] = [];
      for (const member of cluster.members) relays.push(held.use(await CutProxy.start(member.clientPort)));
      const etcd = relays.map(({ port }) => `127.0.0.1:${port}`).join();
      const args = ['--pki', join(folder, 'pki'), '--etcd', etcd];
      // One after the other: the first makes the keys.
      const server = held.use(await ServerProcess.start('apiserver', join(folder, `server-${i}`), args));
      places.push({ server, relays });
    }
    const parts = options.controllers === 0 ? { controllers: [] } : await staff(options, folder, places, random, held);
    return new EtcdWorld(held.move(), { cluster, places, ...parts });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#held[Symbol.asyncDispose]();
  }
}

interface Parts {
  readonly cluster: EtcdCluster;
  readonly places: readonly Place[];
  readonly controllers: readonly ProcessPlace[];
  readonly work?: VmWorkload;
}

/** Hosts, controllers, and VMs for them. */
async function staff(
  options: EtcdWorldOptions,
  folder: string,
  places: readonly Place[],
  random: Random,
  held: AsyncDisposableStack,
): Promise<Pick<Parts, 'controllers' | 'work'>> {
  const servers = places.map(({ server }) => server.url);
  const [first] = places as readonly [Place];
  const operator = new ApiClient(first.server.send);
  const fleet = held.use(
    await SimFleet.start({ servers, operator, pki: join(folder, 'pki'), folder, hosts: SIM_HOSTS }),
  );
  const args = servers.flatMap((server) => ['--server', server]);
  const controllers = Array.from({ length: options.controllers }, () => {
    return held.use(
      new ProcessPlace({ command: 'controllers', home: first.server.home, args, ready: /stands by for/ }),
    );
  });
  for (const place of controllers) await place.start();
  const { connection } = first.server;
  const connectionTo = (server: string) => ({ ...connection, server });
  const work = held.use(new VmWorkload({ servers, connectionTo, fleet }, random));
  await work.furnish();
  return { controllers, work };
}

interface Place {
  readonly server: ServerProcess;
  /** Its ways to the members, in their order. */
  readonly relays: readonly CutProxy[];
}

function faultsOfServer(
  server: ServerProcess,
  relays: readonly CutProxy[],
  target: string,
  cluster: EtcdCluster,
): readonly Fault[] {
  const through = (name: string, change: (relay: CutProxy) => void): Fault => ({
    name,
    target,
    async begin() {
      for (const relay of relays) change(relay);
      return async () => {
        for (const relay of relays) relay.cut();
      };
    },
  });
  const forgotten = async () => {
    for (const relay of relays) relay.refuse();
    return async () => {
      await compact(cluster, 1);
      for (const relay of relays) relay.cut();
    };
  };
  return [
    ...processFaults(server.place, target),
    { name: 'cut off past a compaction', target, begin: forgotten },
    through('cut off from etcd', (relay) => relay.refuse()),
    through('not answered by etcd', (relay) => relay.holdAnswers()),
  ];
}

function faultsOfMember(member: EtcdMember, relays: readonly CutProxy[]): readonly Fault[] {
  const target = `etcd ${member.name}`;
  const through = (name: string, proxies: readonly CutProxy[], change: (relay: CutProxy) => void): Fault => ({
    name,
    target,
    async begin() {
      for (const relay of proxies) change(relay);
      return async () => {
        for (const relay of proxies) relay.cut();
      };
    },
  });
  const pause = async () => {
    member.pause();
    return async () => member.resume();
  };
  return [
    { name: 'kill', target, begin: () => killed(member) },
    { name: 'pause', target, begin: pause },
    through('cut off from servers', relays, (relay) => relay.refuse()),
    through('does not answer servers', relays, (relay) => relay.holdAnswers()),
    through('not reached by its peers', [member.peers], (relay) => relay.refuse()),
  ];
}

async function killed(member: EtcdMember): Promise<() => Promise<void>> {
  await member.kill();
  return async () => member.launch();
}

function leaderFault(cluster: EtcdCluster): Fault {
  const begin = async (random: Random) => {
    const leader = (await cluster.leader()) ?? random.pick(cluster.members);
    if (random.oneIn(2)) return killed(leader);
    leader.pause();
    return async () => leader.resume();
  };
  return { name: 'kill or pause', target: 'the leader of etcd', begin };
}

/** All servers but one are halted, and go on where they were. */
function loneliness(places: readonly Place[]): Fault {
  const begin = async (random: Random) => {
    const left = random.pick(places);
    const others = places.filter((place) => place !== left).map(({ server }) => server.place);
    for (const place of others) place.pause();
    return async () => {
      for (const place of others) place.resume();
    };
  };
  return { name: 'left alone', target: 'one server', leastMs: ALONE_MS, begin };
}

function compaction(cluster: EtcdCluster): Fault {
  const begin = async (random: Random) => {
    await compact(cluster, random.oneIn(2) ? 1 : random.below(100) / 100);
    return async () => {};
  };
  return { name: 'compact', target: 'history', begin };
}

async function compact(cluster: EtcdCluster, share: number): Promise<void> {
  for (const member of cluster.members) if (await member.compact(share)) return;
}
