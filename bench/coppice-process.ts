import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type BenchWorld, NotMeasured } from './goal.ts';

const KEPT_OUTPUT = 20_000;
/** Of a clock tick in /proc: the same on every Linux. */
const TICK_MS = 10;

/** A part of the control plane in a process of its own, started as users start it. Disposing it interrupts it and waits for its end. */
export class CoppiceProcess implements AsyncDisposable {
  readonly name: string;
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  #said = '';
  #heard = () => {};

  /** `name` is for people. */
  constructor({ packageRoot, profiles }: BenchWorld, name: string, args: readonly string[]) {
    if (!existsSync('/proc/self/stat')) throw new NotMeasured('there is no /proc to read what processes take');
    this.name = name;
    const profiling = profiles === undefined ? {} : { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${profiles}` };
    // The launcher becomes the process it starts. What that warns of is in the log of its home.
    this.#child = spawn(join(packageRoot, 'bin', 'coppice'), args, {
      env: { ...process.env, ...profiling },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    this.#exited = once(this.#child, 'exit');
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#said = (this.#said + text).slice(-KEPT_OUTPUT);
      this.#heard();
    });
  }

  /** Resolves with what it said when that matches. */
  async says(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = pattern.exec(this.#said);
      if (found !== null) return found;
      const heard = new Promise<void>((resolve) => {
        this.#heard = resolve;
      });
      const ended = this.#exited.then(() => Promise.reject(new Error(`${this.name} ended: ${this.#said}`)));
      await Promise.race([heard, ended]);
    }
  }

  /** What it takes of memory now, and at most so far. */
  memory(): { readonly rssBytes: number; readonly peakBytes: number } {
    const status = readFileSync(`/proc/${this.#child.pid}/status`, 'utf8');
    const bytes = (field: string) => Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024;
    return { rssBytes: bytes('VmRSS'), peakBytes: bytes('VmHWM') };
  }

  /** Of both kinds, since it began. */
  cpuMs(): number {
    const [, fields = ''] = readFileSync(`/proc/${this.#child.pid}/stat`, 'utf8').split(') ');
    const [, , , , , , , , , , , user, system] = fields.split(' ');
    return (Number(user) + Number(system)) * TICK_MS;
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill('SIGINT');
    await this.#exited;
  }
}
