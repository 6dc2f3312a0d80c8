import { setTimeout as delay } from 'node:timers/promises';
import { UpProcess } from '../cli/up/up-process.ts';

const START_MS = 60_000;
const AGAIN_MS = 300;

interface PlaceOptions {
  readonly command: 'up' | 'apiserver' | 'controllers' | 'nodelet';
  readonly home: string;
  readonly args: readonly string[];
  /** What it says when it is at work. */
  readonly ready: RegExp;
}

/** The place of a process that is started there, killed, and started again. */
export class ProcessPlace implements AsyncDisposable {
  readonly #options: PlaceOptions;
  #process: UpProcess | undefined;
  #serving = false;
  #starting: { readonly stop: AbortController; readonly ended: Promise<void> } | undefined;

  constructor(options: PlaceOptions) {
    this.#options = options;
  }

  /** Whether it has been at work since it was started last. */
  get serving(): boolean {
    return this.#serving;
  }

  /** What it has said since it was started last. */
  get said(): string {
    return this.#process?.stdout ?? '';
  }

  /** Resolves when it is at work; throws with what it said when it does not come to that. */
  async start(): Promise<void> {
    const { command, home, args, ready } = this.#options;
    const process = new UpProcess(home, args, { COPPICE_SETUP: 'skip', KUBECONFIG: '' }, command);
    this.#process = process;
    await process.says(ready, START_MS);
    this.#serving = true;
  }

  /** Starts it again and again until it is at work, or is killed: what it needs may be away too. Resolves when it comes to either; nobody needs to wait for that. */
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
    this.#serving = false;
    this.#starting?.stop.abort();
    await this.#process?.end('SIGKILL');
    await this.#starting?.ended;
    await this.#process?.end('SIGKILL');
    this.#serving = false;
  }

  /** Halts it in the middle of whatever it does, until `resume`. */
  pause(): void {
    this.#process?.send('SIGSTOP');
  }

  resume(): void {
    this.#process?.send('SIGCONT');
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }
}
