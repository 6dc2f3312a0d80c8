import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RunCommand } from './run-command.ts';

const FLAGS = ['-std=gnu11', '-Os', '-static', '-s', '-Wall', '-Wl,--build-id=none'];

/**
 * Compiles the guest agent in `sourceDir` into the static program `out`, with musl-gcc if there is one (a tenth of the size), else gcc.
 * Throws a sentence naming what to install.
 */
export async function compileAgent(
  options: { readonly sourceDir: string; readonly out: string; readonly run: RunCommand },
  signal: AbortSignal,
): Promise<void> {
  const files = (await agentSources(options.sourceDir)).filter((name) => name.endsWith('.c'));
  for (const compiler of ['musl-gcc', 'gcc']) {
    // Named relative to the folder, so that no path of this machine can get into the program.
    const argv = [compiler, ...FLAGS, '-o', options.out, ...files] as const;
    const result = await options.run(argv, { cwd: options.sourceDir }, signal);
    if (result === 'missing') continue;
    if (result.code === 0) return;
    throw new Error(`${compiler} could not compile the guest agent: ${result.stderr.trim()}`);
  }
  throw new Error('no C compiler for the guest agent: run "apt-get install gcc musl-tools libc6-dev"');
}

/** `sha256:` over the agent's sources. */
export async function agentSourceDigest(sourceDir: string): Promise<string> {
  const hash = createHash('sha256');
  for (const name of await agentSources(sourceDir)) {
    const text = await readFile(join(sourceDir, name));
    hash.update(`${name} ${text.length}\n`).update(text);
  }
  return `sha256:${hash.digest('hex')}`;
}

async function agentSources(sourceDir: string): Promise<readonly string[]> {
  const names = (await readdir(sourceDir)).filter((name) => name.endsWith('.c') || name.endsWith('.h'));
  if (names.length === 0) throw new Error(`no agent sources in ${sourceDir}`);
  return names.sort();
}
