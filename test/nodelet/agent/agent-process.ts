import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { type AgentConnection, connectAgent } from '../../../nodelet/agent/agent-connection.ts';
import { agentSourceDigest, compileAgent } from '../../../nodelet/images/compile-agent.ts';
import { runCommand } from '../../../nodelet/images/run-command.ts';
import { systemClock } from '../../../resources/ambient/system-clock.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';

export const PACKAGE_ROOT = join(import.meta.dirname, '../../..');
const SOURCES = join(PACKAGE_ROOT, 'nodelet/agent');

/** Where tests keep what is slow to make. */
export const testCache = join(tmpdir(), `coppice-test-${userInfo().uid}`);

/** The compiled agent, made once for each version of its sources; undefined (said aloud) without a C compiler. */
export async function compiledAgent(): Promise<string | undefined> {
  const path = join(testCache, `agent-${(await agentSourceDigest(SOURCES)).slice(7, 23)}`);
  if (existsSync(path)) return path;
  await mkdir(testCache, { recursive: true, mode: 0o700 });
  const made = `${path}.${process.pid}`;
  try {
    await compileAgent({ sourceDir: SOURCES, out: made, run: runCommand }, AbortSignal.timeout(60_000));
  } catch (error) {
    if (!String(error).includes('no C compiler')) throw error;
    process.stderr.write(`skipped: ${String(error)}\n`);
    return undefined;
  }
  await rename(made, path);
  return path;
}

/** A real agent serving a unix socket. */
export class AgentProcess implements AsyncDisposable {
  readonly socketPath: string;
  readonly #dir: string;
  readonly #child: ChildProcess;

  constructor(dir: string, child: ChildProcess) {
    this.#dir = dir;
    this.socketPath = join(dir, 's');
    this.#child = child;
  }

  static async start(program: string): Promise<AgentProcess> {
    const dir = await mkdtemp(join(tmpdir(), 'cpa-'));
    // As the init of a guest starts it: a shell's background job, which ignores ^C and ^\.
    const script = 'trap "" INT QUIT; exec "$0" --listen "$1"';
    const child = spawn('sh', ['-c', script, program, join(dir, 's')], { stdio: ['ignore', 'inherit', 'inherit'] });
    await once(child, 'spawn');
    return new AgentProcess(dir, child);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get running(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  connect(signal = AbortSignal.timeout(10_000)): Promise<AgentConnection> {
    return connectAgent({ socketPath: this.socketPath, clock: systemClock, ids: systemIds }, signal);
  }

  /** A bare socket to the agent, once it listens. */
  async raw(): Promise<ReturnType<typeof connect>> {
    await until(() => existsSync(this.socketPath));
    const socket = connect(this.socketPath);
    await once(socket, 'connect');
    return socket;
  }

  /** Processor time it has used, in milliseconds. */
  async cpuMs(): Promise<number> {
    const fields = (await readFile(`/proc/${this.pid}/stat`, 'utf8')).split(') ')[1]?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) * 10;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.running) {
      const gone = once(this.#child, 'exit');
      this.#child.kill('SIGTERM');
      await gone;
    }
    await rm(this.#dir, { recursive: true, force: true });
  }
}

/** Waits for a condition, at most ten seconds. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = AbortSignal.timeout(10_000);
  while (!(await condition())) await systemClock.sleep(5, deadline);
}

export async function text(stream: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of stream) pieces.push(piece);
  return Buffer.concat(pieces).toString('utf8');
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
