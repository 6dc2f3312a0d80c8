import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Connection, HttpsTransport } from '../../apiserver/client/https-transport.ts';
import type { ApiResponse, Transport } from '../../apiserver/client/transport.ts';
import { UnreachableError } from '../../apiserver/client/unreachable-error.ts';
import { connectionOf } from '../../cli/kubeconfig/connection.ts';
import { readKubeconfigFile } from '../../cli/kubeconfig/kubeconfig.ts';
import { UpProcess } from '../cli/up/up-process.ts';

const START_MS = 60_000;
const AGAIN_MS = 300;

interface Running {
  readonly process: UpProcess;
  readonly transport: HttpsTransport;
}

/** The place of a process that serves the API: started there, killed, and started again on the same home, at another port each time. */
export class ServerProcess implements AsyncDisposable {
  readonly #command: 'up' | 'apiserver';
  readonly #home: string;
  readonly #args: readonly string[];
  #process: UpProcess | undefined;
  #running: Running | undefined;
  #starting: { readonly stop: AbortController; readonly ended: Promise<void> } | undefined;

  constructor(command: 'up' | 'apiserver', home: string, args: readonly string[]) {
    this.#command = command;
    this.#home = home;
    this.#args = args;
  }

  /** Resolves when it serves; throws with what it said when it does not come to that. */
  async start(): Promise<void> {
    const process = new UpProcess(this.#home, [...this.#args, '--port', '0'], {}, this.#command);
    this.#process = process;
    await process.says(/up in [0-9.]+ s/, START_MS);
    this.#running = { process, transport: new HttpsTransport(await this.#connection()) };
  }

  /** Starts it again and again until it serves, or is killed: what it needs may be away too. Resolves when it comes to either; nobody needs to wait for that. */
  startAgain(): Promise<void> {
    const stop = new AbortController();
    const tries = async () => {
      while (!stop.signal.aborted) {
        try {
          return await this.start();
        } catch {
          // It has said why on its own terminal, which nobody looks at here; that it comes back in time is judged at the end.
          await this.#process?.end('SIGKILL');
          await delay(AGAIN_MS);
        }
      }
    };
    const ended = tries();
    this.#starting = { stop, ended };
    return ended;
  }

  /** As a crash does. */
  async kill(): Promise<void> {
    this.#starting?.stop.abort();
    await this.#process?.end('SIGKILL');
    await this.#starting?.ended;
    await this.#process?.end('SIGKILL');
    const running = this.#running;
    this.#running = undefined;
    await running?.transport[Symbol.asyncDispose]();
  }

  /** Halts it in the middle of whatever it does, until `resume`. */
  pause(): void {
    this.#signal('SIGSTOP');
  }

  resume(): void {
    this.#signal('SIGCONT');
  }

  readonly send: Transport = (request): Promise<ApiResponse> => {
    if (this.#running === undefined)
      throw new UnreachableError('refused', this.#home, `nothing listens for ${this.#home}`, { sent: false });
    return this.#running.transport.send(request);
  };

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }

  #signal(signal: NodeJS.Signals): void {
    this.#process?.send(signal);
  }

  async #connection(): Promise<Connection> {
    const file = join(this.#home, 'kubeconfig');
    const config = await readKubeconfigFile(file);
    if (config === undefined) throw new Error(`there is no ${file}`);
    return (await connectionOf({ ...config, files: [file] }, undefined)).connection;
  }
}
