import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ApiClient } from '../apiserver/client/client.ts';
import { HttpsTransport } from '../apiserver/client/https-transport.ts';
import { tokenIn } from '../apiserver/pki/admin-kubeconfig.ts';
import type { BenchWorld } from './goal.ts';
import type { ServerAddress } from './server-process.ts';

const KEPT_OUTPUT = 20_000;

/** A running `coppice up`. Disposing it interrupts it and waits for its end; guests run on, as they do. */
export class CoppiceUp implements AsyncDisposable {
  readonly home: string;
  readonly port: number;
  readonly token: string;
  readonly ca: string;
  readonly #child: ChildProcess;

  private constructor(home: string, port: number, child: ChildProcess) {
    this.home = home;
    this.port = port;
    this.token = tokenIn(join(home, 'kubeconfig')) ?? '';
    this.ca = readFileSync(join(home, 'pki', 'ca.crt'), 'utf8');
    this.#child = child;
  }

  /** Starts it as `npm start` does, on a home below the bench's folder, and waits until it has said what `until` matches. */
  static async start(world: BenchWorld, home: string, flags: readonly string[], until: RegExp): Promise<CoppiceUp> {
    const path = join(world.folder, home);
    const args = [join(world.packageRoot, 'bin', 'start.js'), '--home', path, '--port', '0', ...flags];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    let said = '';
    child.stdout.setEncoding('utf8');
    for await (const piece of child.stdout.iterator({ destroyOnReturn: false })) {
      said = (said + piece).slice(-KEPT_OUTPUT);
      if (until.test(said)) break;
    }
    const port = Number(/API server on https:\/\/[^:]+:(\d+)/.exec(said)?.[1]);
    if (!until.test(said) || Number.isNaN(port)) throw new Error(`coppice up did not come to ${until}:\n${said}`);
    child.stdout.resume();
    return new CoppiceUp(path, port, child);
  }

  /** Where it listens, as the bench's own client wants it. */
  server(): ServerAddress {
    return { port: this.port, token: this.token, ca: this.ca };
  }

  connection() {
    return {
      server: `https://127.0.0.1:${this.port}`,
      ca: this.ca,
      authorization: async () => `Bearer ${this.token}`,
    };
  }

  client(held: AsyncDisposableStack): ApiClient {
    return new ApiClient(held.use(new HttpsTransport(this.connection())).send);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGINT');
    await ended;
  }
}
