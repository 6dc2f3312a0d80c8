import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Transport } from '../../apiserver/client/transport.ts';
import type { Random } from '../fuzz/random.ts';
import { CutProxy } from '../harness/cut-proxy.ts';
import { EtcdCluster, type EtcdMember } from '../harness/etcd-cluster.ts';
import type { ChaosWorld, Fault } from './chaos-world.ts';
import { ServerProcess } from './server-process.ts';

export interface EtcdWorldOptions {
  readonly servers: number;
  readonly members: number;
}

/** API servers as processes over a real etcd of several members, each on its own relays to every member. */
export class EtcdWorld implements ChaosWorld {
  readonly servers: readonly Transport[];
  readonly faults: readonly Fault[];
  readonly #held: AsyncDisposableStack;

  private constructor(held: AsyncDisposableStack, cluster: EtcdCluster, places: readonly Place[]) {
    this.#held = held;
    this.servers = places.map(({ server }) => server.send);
    this.faults = [
      ...places.flatMap(({ server, relays }, i) => faultsOfServer(server, relays, `server ${i}`, cluster)),
      ...cluster.members.flatMap((member, i) =>
        faultsOfMember(
          member,
          places.map(({ relays }) => relays[i] as CutProxy),
        ),
      ),
      leaderFault(cluster),
      compaction(cluster),
    ];
  }

  /** Resolves when all servers serve. */
  static async start({ servers, members }: EtcdWorldOptions): Promise<EtcdWorld> {
    await using held = new AsyncDisposableStack();
    const folder = await mkdtemp(join(tmpdir(), 'coppice-chaos-'));
    held.defer(() => rm(folder, { recursive: true, force: true }));
    const cluster = held.use(await EtcdCluster.start(members));
    const places: Place[] = [];
    for (let i = 0; i < servers; i++) {
      const relays: CutProxy[] = [];
      for (const member of cluster.members) relays.push(held.use(await CutProxy.start(member.clientPort)));
      const etcd = relays.map(({ port }) => `127.0.0.1:${port}`).join();
      const args = ['--pki', join(folder, 'pki'), '--etcd', etcd];
      const server = held.use(new ServerProcess('apiserver', join(folder, `server-${i}`), args));
      // One after the other: the first makes the keys.
      await server.start();
      places.push({ server, relays });
    }
    return new EtcdWorld(held.move(), cluster, places);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#held[Symbol.asyncDispose]();
  }
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
  const kill = async () => {
    await server.kill();
    return async () => void server.startAgain();
  };
  const pause = async () => {
    server.pause();
    return async () => server.resume();
  };
  const forgotten = async () => {
    for (const relay of relays) relay.refuse();
    return async () => {
      await compact(cluster, 1);
      for (const relay of relays) relay.cut();
    };
  };
  return [
    { name: 'kill', target, begin: kill },
    { name: 'pause', target, begin: pause },
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
