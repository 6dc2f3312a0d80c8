import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { openPki } from '../apiserver/pki/pki-files.ts';
import { isObject } from '../resources/meta/object.ts';
import type { BenchWorld } from './goal.ts';

/** Where a server listens and as whom it lets us in. */
export interface ServerAddress {
  readonly port: number;
  readonly token: string;
  readonly ca: string;
}

/** What a server process tells of itself. */
interface ProcessStats {
  readonly rssBytes: number;
  /** Of the delays of its event loop since the last `reset`. */
  readonly loopDelayP99Ms: number;
  /** Of both kinds, since it began. */
  readonly cpuMs: number;
}

export interface ServerProcess extends ServerAddress, AsyncDisposable {
  stats(): Promise<ProcessStats>;
  /** Forgets the delays so far. */
  reset(): Promise<void>;
}

/** Makes a folder with the keys both servers listen with. */
export async function makeServerFolder({ folder, clock, ids }: BenchWorld, name: string): Promise<string> {
  const made = join(folder, name);
  await mkdir(made, { recursive: true });
  await (await openPki(join(made, 'pki'), ['127.0.0.1'], clock, ids)).serverLeaf();
  return made;
}

const FLAGS = ['--max-semi-space-size=16', '--heap-growing-percent=100'];

/** Starts a server over a folder in a process of its own and waits until it listens. */
export async function startServerProcess(
  { packageRoot }: BenchWorld,
  program: 'api-server-process.ts' | 'plain-server-process.ts',
  folder: string,
  args: readonly string[] = [],
): Promise<ServerProcess> {
  // As bin/coppice and bin/run.js do, so that what is measured is what users have.
  const env = { ...process.env, NODE_COMPILE_CACHE: join(packageRoot, 'node_modules/.cache/coppice/code') };
  const preload =
    program === 'api-server-process.ts' ? [...FLAGS, '--import', join(import.meta.dirname, 'as-shipped.js')] : [];
  const child = spawn(process.execPath, [...preload, join(import.meta.dirname, program), folder, ...args], {
    env,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ended = exited.then(([code]) => Promise.reject(new Error(`${program} ended with ${code}`)));
  ended.catch(() => {});
  const answer = async () => {
    const next = await Promise.race([lines.next(), ended]);
    // Its output ends before it does, and how it ended says more.
    if (next.done === true) await ended;
    return parsed(program, next);
  };
  const ask = (question: string) => {
    child.stdin.write(`${question}\n`);
    return answer();
  };
  const said = await answer();
  return {
    port: Number(said.port),
    token: String(said.token),
    ca: String(said.ca),
    async stats() {
      const { rssBytes, loopDelayP99Ms, cpuMs } = await ask('stats');
      return { rssBytes: Number(rssBytes), loopDelayP99Ms: Number(loopDelayP99Ms), cpuMs: Number(cpuMs) };
    },
    async reset() {
      await ask('reset');
    },
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await exited;
    },
  };
}

function parsed(program: string, { value }: IteratorResult<string>): Record<string, unknown> {
  const said: unknown = JSON.parse(String(value));
  if (!isObject(said)) throw new Error(`${program} said ${value}`);
  return said;
}
