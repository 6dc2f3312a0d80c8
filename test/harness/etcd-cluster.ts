import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { CutProxy } from './cut-proxy.ts';
import { diskFolder, findEtcd, freePort, killOf, ready } from './etcd-server.ts';
import { temporaryFolder } from './temporary-folder.ts';

const ATTEMPTS = 3;
const CALL_MS = 5_000;

interface Status {
  readonly header: { readonly member_id: string; readonly revision?: string };
  readonly leader?: string;
}

/** A real etcd of several members on loopback, in a folder of its own. Members reach one another through relays that can be cut. Disposing it removes all of it. */
export class EtcdCluster implements AsyncDisposable {
  readonly members: readonly EtcdMember[];
  readonly #held: AsyncDisposableStack;

  private constructor(members: readonly EtcdMember[], held: AsyncDisposableStack) {
    this.members = members;
    this.#held = held;
  }

  /** Resolves when all members take calls. */
  static async start(size = 3): Promise<EtcdCluster> {
    for (let attempt = 1; ; attempt++) {
      await using held = new AsyncDisposableStack();
      const folder = await temporaryFolder(join(await diskFolder(), 'coppice-etcd-'), held);
      const members = await makeMembers(folder, size);
      for (const member of members) held.use(member);
      try {
        await Promise.all(members.map((member) => member.start()));
        return new EtcdCluster(members, held.move());
      } catch (error) {
        // Somebody else may have taken a port meanwhile.
        if (attempt === ATTEMPTS) throw error;
      }
    }
  }

  /** The member that leads, as far as it knows itself. */
  async leader(): Promise<EtcdMember | undefined> {
    const leads = await Promise.all(this.members.map(async (member) => ((await member.leads()) ? member : undefined)));
    return leads.find((member) => member !== undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#held[Symbol.asyncDispose]();
  }
}

async function makeMembers(folder: string, size: number): Promise<readonly EtcdMember[]> {
  const places = await Promise.all(
    Array.from({ length: size }, async (_, i) => {
      const peerPort = await freePort();
      return { name: `m${i}`, clientPort: await freePort(), peerPort, peers: await CutProxy.start(peerPort) };
    }),
  );
  const cluster = places.map(({ name, peers }) => `${name}=http://127.0.0.1:${peers.port}`).join();
  return places.map((place) => new EtcdMember(place, join(folder, place.name), cluster));
}

interface Place {
  readonly name: string;
  readonly clientPort: number;
  readonly peerPort: number;
  readonly peers: CutProxy;
}

/** One member, as a process. */
export class EtcdMember implements AsyncDisposable {
  readonly #place: Place;
  readonly #folder: string;
  readonly #cluster: string;
  #child: ChildProcess | undefined;

  constructor(place: Place, folder: string, cluster: string) {
    this.#place = place;
    this.#folder = folder;
    this.#cluster = cluster;
  }

  get name(): string {
    return this.#place.name;
  }

  get clientPort(): number {
    return this.#place.clientPort;
  }

  /** What the other members reach it through. */
  get peers(): CutProxy {
    return this.#place.peers;
  }

  /** Starts it, or starts it again on the same data; resolves when it takes calls, for which it needs a majority. */
  async start(): Promise<void> {
    this.launch();
    if (this.#child !== undefined) await ready(this.#child);
  }

  /** Starts it, if it is not running, without waiting for anything. */
  launch(): void {
    const program = findEtcd();
    if (program === undefined) throw new Error('there is no etcd on this machine');
    if (this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null) return;
    const child = spawn(program, this.#arguments(), { stdio: ['ignore', 'ignore', 'pipe'] });
    child.stderr?.resume();
    child.on('error', () => {});
    process.once('exit', killOf(child));
    this.#child = child;
  }

  /** As a crash does. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  }

  /** Halts it in the middle of whatever it does, until `resume`. */
  pause(): void {
    this.#child?.kill('SIGSTOP');
  }

  resume(): void {
    this.#child?.kill('SIGCONT');
  }

  /** Whether it believes that it leads. One that does not answer does not. */
  async leads(): Promise<boolean> {
    const status = await this.#call('maintenance/status', {});
    return status?.leader !== undefined && status.leader === status.header.member_id;
  }

  /** Forgets history up to some revision, chosen of all there are by `share` (0 to 1). Answers whether it did. */
  async compact(share: number): Promise<boolean> {
    const status = await this.#call('maintenance/status', {});
    const revision = Math.floor(Number(status?.header.revision ?? 0) * share);
    return revision > 0 && (await this.#call('kv/compaction', { revision: String(revision) })) !== undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await this.#place.peers[Symbol.asyncDispose]();
  }

  async #call(method: string, body: object): Promise<Status | undefined> {
    try {
      const url = `http://127.0.0.1:${this.#place.clientPort}/v3/${method}`;
      const signal = AbortSignal.timeout(CALL_MS);
      const answer = await fetch(url, { method: 'POST', body: JSON.stringify(body), signal });
      return answer.ok ? ((await answer.json()) as Status) : undefined;
    } catch {
      // It is dead, halted or without a majority: it says nothing.
      return undefined;
    }
  }

  #arguments(): string[] {
    const client = `http://127.0.0.1:${this.#place.clientPort}`;
    const flags = {
      name: this.#place.name,
      'data-dir': this.#folder,
      'listen-client-urls': client,
      'advertise-client-urls': client,
      'listen-peer-urls': `http://127.0.0.1:${this.#place.peerPort}`,
      'initial-advertise-peer-urls': `http://127.0.0.1:${this.#place.peers.port}`,
      'initial-cluster': this.#cluster,
      // Quick enough that a killed leader is replaced within a second, slow enough for a busy machine.
      'heartbeat-interval': 50,
      'election-timeout': 500,
    };
    return Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
  }
}
