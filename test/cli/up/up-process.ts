import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { systemClock } from '../../../resources/ambient/system-clock.ts';

const COPPICE = join(import.meta.dirname, '../../../bin/coppice');

interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** `coppice up`, or another command that serves, as a process, in a group of its own: what is sent to it reaches its children too, as Ctrl-C does. */
export class UpProcess implements AsyncDisposable {
  readonly ended: Promise<Ended>;
  stdout = '';
  stderr = '';
  readonly #child: ChildProcess;
  #over = false;
  #heard = Promise.withResolvers<void>();

  constructor(
    home: string,
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
    command: 'up' | 'apiserver' | 'controllers' | 'nodelet' = 'up',
  ) {
    this.#child = spawn(COPPICE, [command, '--home', home, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
      env: { ...process.env, COPPICE_PORT: '0', ...env },
    });
    // In a group of its own it would outlive whoever started it.
    const kill = () => this.send('SIGKILL');
    process.once('exit', kill);
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
      this.#tell();
    });
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
      this.#tell();
    });
    this.ended = new Promise((resolve) => {
      this.#child.on('close', (code, signal) => {
        this.#over = true;
        process.removeListener('exit', kill);
        this.#tell();
        resolve({ code, signal });
      });
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Resolves when stdout or stderr matches; throws with all that was said when the process ends without it, or not within `deadlineMs`. */
  async says(pattern: RegExp, deadlineMs = 15_000): Promise<RegExpExecArray> {
    const late = Promise.withResolvers<void>();
    let over = false;
    const stop = systemClock.after(deadlineMs, () => {
      over = true;
      late.resolve();
    });
    try {
      for (;;) {
        const match = pattern.exec(this.stdout) ?? pattern.exec(this.stderr);
        if (match !== null) return match;
        if (over || this.#over) throw new Error(`never said ${pattern}:\n${this.stdout}${this.stderr}`);
        await Promise.race([this.#heard.promise, late.promise]);
      }
    } finally {
      stop();
    }
  }

  /** Sends it to the whole group, if that is still there. */
  send(signal: NodeJS.Signals): void {
    try {
      process.kill(-this.pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }

  /** Sends it to the whole group and waits for the end. */
  async end(signal: NodeJS.Signals): Promise<Ended> {
    if (!this.#over) this.send(signal);
    return this.ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end('SIGKILL');
  }

  #tell(): void {
    this.#heard.resolve();
    this.#heard = Promise.withResolvers<void>();
  }
}
