import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { openPki } from '../apiserver/pki/pki-files.ts';
import { isObject } from '../resources/meta/object.ts';
import type { BenchWorld } from './goal.ts';

/** Where a server process listens and as whom it lets us in. */
export interface ServerProcess extends AsyncDisposable {
  readonly port: number;
  readonly token: string;
  readonly ca: string;
}

/** Makes a folder with the keys both servers listen with. */
export async function makeServerFolder({ folder, clock, ids }: BenchWorld, name: string): Promise<string> {
  const made = join(folder, name);
  await mkdir(made, { recursive: true });
  await (await openPki(join(made, 'pki'), ['127.0.0.1'], clock, ids)).serverLeaf();
  return made;
}

/** Starts a server over a folder in a process of its own and waits until it listens. */
export async function startServerProcess(
  { packageRoot }: BenchWorld,
  program: 'api-server-process.ts' | 'plain-server-process.ts',
  folder: string,
): Promise<ServerProcess> {
  // As bin/run.js does, so that a start is measured as users have it.
  const env = { ...process.env, NODE_COMPILE_CACHE: join(packageRoot, 'node_modules/.cache/coppice/code') };
  const child = spawn(process.execPath, [join(import.meta.dirname, program), folder], {
    env,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const [line] = await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    exited.then(([code]) => Promise.reject(new Error(`${program} ended with ${code} before it listened`))),
  ]);
  const said: unknown = JSON.parse(String(line));
  if (!isObject(said)) throw new Error(`${program} said ${line}`);
  return {
    port: Number(said.port),
    token: String(said.token),
    ca: String(said.ca),
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await exited;
    },
  };
}
