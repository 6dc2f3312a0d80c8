import { spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { access, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../resources/ambient/clock.ts';
import type { Logger } from '../../resources/ambient/log.ts';
import { withDeadline } from '../../resources/ambient/with-deadline.ts';
import { isObject } from '../../resources/meta/object.ts';
import { orAborted } from '../drivers/or-aborted.ts';
import { OutputTail } from './output-tail.ts';

/** Says of a process when it was started, so that one that has its number by now is not taken for it; undefined when there is none. */
export type FindProcess = (pid: number) => Promise<{ readonly startTime: string } | undefined>;

export interface ScrubHookOptions {
  /** The host's own folder: the hook is the file `scrub-hook` in it. */
  readonly root: string;
  readonly host: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly find: FindProcess;
}

export interface HookReport {
  readonly exitCode?: number;
  readonly timedOut?: boolean;
  readonly output?: string;
}

/** What came of it; undefined: the host has no hook. `failure` is a sentence where it did not do its work. */
export interface HookRun {
  readonly report: HookReport;
  readonly failure?: string;
}

const OUTPUT_BYTES = 4 * 1024;
/** How long its last words may take once nobody is left to say more. */
const LAST_WORDS_MS = 1_000;
const LOOK_MS = 50;
const LOOKS = 200;

/**
 * The operator's own cleaning of a host: an executable that is run with the host's name and the instant of the request, in a process group of its own, and in the host's
 * folder. What is left of the group at its end, at the deadline or when this process stops is killed, and so is, before it is run again, a hook that outlived the process
 * that ran it: no two are ever at work.
 */
export class ScrubHook {
  readonly #options: ScrubHookOptions;
  readonly #path: string;
  readonly #pidFile: string;

  constructor(options: ScrubHookOptions) {
    this.#options = options;
    this.#path = join(options.root, 'scrub-hook');
    this.#pidFile = join(options.root, 'scrub-hook.json');
  }

  /** Runs it to its end. Rejects when the signal aborts; nothing of it runs by then. */
  async run(requestedAt: string, timeoutMs: number, signal: AbortSignal): Promise<HookRun | undefined> {
    await this.#endLast(signal);
    if (!(await exists(this.#path, constants.F_OK))) return undefined;
    if (!(await exists(this.#path, constants.X_OK)))
      return { report: {}, failure: `the hook ${this.#path} is not executable` };
    signal.throwIfAborted();
    const { root, host, clock, log } = this.#options;
    const child = spawn(this.#path, [host, requestedAt], {
      detached: true,
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const output = new OutputTail(OUTPUT_BYTES);
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes: Buffer) => output.add(bytes));
    const ended = new Promise<string | number>((resolve) => {
      child.once('error', (error) => resolve(`the hook ${this.#path} cannot be run: ${error.message}`));
      child.once('exit', (code, by) => resolve(code ?? `the hook was ended by ${by}`));
    });
    const said = new Promise<void>((resolve) => child.once('close', () => resolve()));
    const { pid } = child;
    if (pid === undefined) return { report: {}, failure: String(await ended) };
    let timedOut = false;
    const kill = () => killGroup(pid);
    const cancel = clock.after(timeoutMs, () => {
      timedOut = true;
      kill();
    });
    signal.addEventListener('abort', kill, { once: true });
    try {
      await this.#note(pid);
      log.info('scrub hook runs', { pid });
      if (signal.aborted) kill();
      const end = await ended;
      kill();
      // Bounded: what left the group may hold its output open for ever.
      await withDeadline(clock, LAST_WORDS_MS, signal, (s) => orAborted(said, s)).catch(() => signal.throwIfAborted());
      await rm(this.#pidFile, { force: true });
      signal.throwIfAborted();
      return told(end, timedOut, timeoutMs, output.text());
    } finally {
      cancel();
      signal.removeEventListener('abort', kill);
      kill();
      for (const stream of [child.stdout, child.stderr]) stream.destroy();
    }
  }

  async #note(pid: number): Promise<void> {
    const startTime = (await this.#options.find(pid))?.startTime;
    if (startTime !== undefined) await writeFile(this.#pidFile, JSON.stringify({ pid, startTime }), { mode: 0o600 });
  }

  /** A hook whose nodelet was killed goes on without it. */
  async #endLast(signal: AbortSignal): Promise<void> {
    const { clock, find, log } = this.#options;
    const last = await readPid(this.#pidFile);
    if (last === undefined) return;
    for (let looks = 0; (await find(last.pid))?.startTime === last.startTime; looks++) {
      if (looks === LOOKS) throw new Error(`hook ${last.pid} is still there after it was killed`);
      if (looks === 0) log.info('scrub hook of an earlier process is ended', { pid: last.pid });
      killGroup(last.pid);
      await clock.sleep(LOOK_MS, signal);
    }
    await rm(this.#pidFile, { force: true });
  }
}

function told(end: string | number, timedOut: boolean, timeoutMs: number, output: string): HookRun {
  const said = output === '' ? {} : { output };
  if (timedOut) {
    const failure = `the hook was ended at its deadline of ${timeoutMs / 1000} s`;
    return { report: { timedOut, ...said }, failure };
  }
  if (typeof end === 'string') return { report: said, failure: end };
  return { report: { exitCode: end, ...said }, ...(end === 0 ? {} : { failure: `the hook ended with ${end}` }) };
}

/** The group outlives its first process; one that is gone already is success. */
function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && (error.code === 'ESRCH' || error.code === 'EPERM'))) throw error;
  }
}

async function exists(path: string, mode: number): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  );
}

async function readPid(path: string): Promise<{ readonly pid: number; readonly startTime: string } | undefined> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    if (!isObject(value) || typeof value.pid !== 'number' || typeof value.startTime !== 'string') return undefined;
    return { pid: value.pid, startTime: value.startTime };
  } catch {
    // Cut off by a full disk or a kill: then it was never known.
    return undefined;
  }
}
