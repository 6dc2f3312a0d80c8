import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { mkdtemp, rm, statfs } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

/** Where `bin/setup.js` unpacks it on machines that do not have it. */
const UNPACKED = join(import.meta.dirname, '..', '..', 'node_modules', '.cache', 'etcd', 'usr', 'bin');
const MEMORY_DISK = '/dev/shm';
const MEMORY_DISK_FREE_BYTES = 1 << 30;
const START_MS = 15_000;
const ATTEMPTS = 3;

/** The etcd to test with, or undefined where there is none. */
export function findEtcd(): string | undefined {
  return [...(process.env.PATH ?? '').split(delimiter), UNPACKED]
    .map((folder) => join(folder, 'etcd'))
    .find((program) => {
      try {
        accessSync(program, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

/** For a suite's `before`: skips it, saying why, where there is no etcd. */
export function needEtcd(context: Mocha.Context): void {
  if (findEtcd() !== undefined) return;
  process.stderr.write(`skipped: ${context.test?.parent?.title ?? 'a suite'} needs etcd (Debian: etcd-server)\n`);
  context.skip();
}

interface EtcdServerOptions {
  /** Where its folder is made; in memory when absent, where there is room. */
  readonly parent?: string;
  /** Bytes the database may have before etcd takes no more writes. */
  readonly quotaBytes?: number;
  /** Files in PEM; `clientCa` asks clients for certificates too. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly clientCa?: string };
}

/** A real etcd of one member, on a free loopback port with a folder of its own. Disposing it removes both. */
export class EtcdServer implements AsyncDisposable {
  readonly #folder: string;
  readonly #options: EtcdServerOptions;
  #port = 0;
  #child: ChildProcess | undefined;

  private constructor(folder: string, options: EtcdServerOptions) {
    this.#folder = folder;
    this.#options = options;
  }

  /** Resolves when it takes calls. */
  static async start(options: EtcdServerOptions = {}): Promise<EtcdServer> {
    const server = new EtcdServer(
      await mkdtemp(join(options.parent ?? (await diskFolder()), 'coppice-etcd-')),
      options,
    );
    for (let attempt = 1; ; attempt++) {
      server.#port = await freePort();
      try {
        await server.start();
        return server;
      } catch (error) {
        // Somebody else may have taken the port meanwhile.
        if (attempt < ATTEMPTS) continue;
        await server[Symbol.asyncDispose]();
        throw error;
      }
    }
  }

  get endpoint(): string {
    return `${this.#options.tls === undefined ? 'http' : 'https'}://127.0.0.1:${this.#port}`;
  }

  get endpoints(): readonly string[] {
    return [this.endpoint];
  }

  /** Again, on the same port and data. */
  async start(): Promise<void> {
    const program = findEtcd();
    if (program === undefined) throw new Error('there is no etcd on this machine');
    const child = spawn(program, this.#arguments(), { stdio: ['ignore', 'ignore', 'pipe'] });
    this.#child = child;
    process.once('exit', killOf(child));
    await ready(child);
  }

  /** Lets it end in order. */
  stop(): Promise<void> {
    return this.#end('SIGTERM');
  }

  /** As a crash does. */
  kill(): Promise<void> {
    return this.#end('SIGKILL');
  }

  /** Halts it in the middle of whatever it does: connections stay open and nothing answers, until `resume`. */
  pause(): void {
    this.#child?.kill('SIGSTOP');
  }

  resume(): void {
    this.#child?.kill('SIGCONT');
  }

  /** Starts again on the same port with nothing in it. */
  async wipe(): Promise<void> {
    await this.kill();
    await rm(join(this.#folder, 'data'), { recursive: true, force: true });
    await this.start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    await gone;
  }

  #arguments(): string[] {
    const { quotaBytes, tls } = this.#options;
    const peer = 'http://127.0.0.1:0';
    const flags: Readonly<Record<string, string | number | undefined>> = {
      'data-dir': join(this.#folder, 'data'),
      'listen-client-urls': this.endpoint,
      'advertise-client-urls': this.endpoint,
      'listen-peer-urls': peer,
      'initial-advertise-peer-urls': peer,
      'initial-cluster': `default=${peer}`,
      // A member alone elects itself in a tenth of a second instead of a whole one.
      'heartbeat-interval': 10,
      'election-timeout': 100,
      'bcrypt-cost': 4,
      'quota-backend-bytes': quotaBytes,
      'cert-file': tls?.cert,
      'key-file': tls?.key,
      'trusted-ca-file': tls?.clientCa,
      'client-cert-auth': tls?.clientCa === undefined ? undefined : 'true',
    };
    return Object.entries(flags).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}=${value}`]));
  }
}

/** Data in memory where there is room: what is tested is kill -9, not a power cut. */
export async function diskFolder(): Promise<string> {
  if (!existsSync(MEMORY_DISK)) return tmpdir();
  const { bavail, bsize } = await statfs(MEMORY_DISK);
  return bavail * bsize > MEMORY_DISK_FREE_BYTES ? MEMORY_DISK : tmpdir();
}

/** Kills a process, for when this one ends first. */
export function killOf(child: ChildProcess): () => void {
  const kill = () => child.kill('SIGKILL');
  child.once('exit', () => process.removeListener('exit', kill));
  return kill;
}

/** Resolves when an etcd says that it takes calls; rejects with what it said when it does not within a while, or ends. */
export function ready(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let said = '';
    const timer = setTimeout(() => fail('does not start'), START_MS);
    const settle = (then: () => void) => {
      clearTimeout(timer);
      then();
    };
    const fail = (how: string) => settle(() => reject(new Error(`etcd ${how}:\n${said.slice(-2000)}`)));
    child.once('error', (error) => fail(error.message));
    child.once('exit', (code, signal) => fail(`ended (${code ?? signal})`));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-8000);
      if (/serving (insecure )?client (requests|traffic)/.test(said)) settle(resolve);
    });
  });
}

/** A port that nobody listens on just now. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}
