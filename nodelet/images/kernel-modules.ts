import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { RunCommand } from './run-command.ts';

export interface KernelModule {
  /** With underscores, as the kernel says it. */
  readonly name: string;
  readonly bytes: Uint8Array;
}

const MAX_MODULES = 128;

/**
 * The modules wanted and what they depend on, in the order they must be loaded. A name without a file is taken to be built into the kernel.
 * Dependencies are read from the modules themselves (`depends=`), as the package holds no index.
 */
export async function modulesInLoadOrder(
  options: { readonly modulesDir: string; readonly wanted: readonly string[]; readonly run: RunCommand },
  signal: AbortSignal,
): Promise<readonly KernelModule[]> {
  const files = await moduleFiles(options.modulesDir);
  const seen = new Set<string>();
  const ordered: KernelModule[] = [];
  const add = async (wanted: string): Promise<void> => {
    const name = wanted.replaceAll('-', '_');
    const file = files.get(name);
    if (file === undefined || seen.has(name)) return;
    if (seen.size >= MAX_MODULES) throw new Error(`more than ${MAX_MODULES} kernel modules depend on each other`);
    seen.add(name);
    const bytes = await readModule(file, options.run, signal);
    for (const dependency of moduleDependencies(bytes)) await add(dependency);
    ordered.push({ name, bytes });
  };
  for (const name of options.wanted) await add(name);
  return ordered;
}

/** The names after `depends=` in a module's .modinfo. */
export function moduleDependencies(module: Uint8Array): readonly string[] {
  const bytes = Buffer.from(module.buffer, module.byteOffset, module.byteLength);
  const key = Buffer.from('\0depends=', 'latin1');
  const at = bytes.indexOf(key);
  if (at < 0) return [];
  const end = bytes.indexOf(0, at + key.length);
  if (end < 0) throw new Error('a kernel module is cut short in its list of dependencies');
  return bytes
    .toString('latin1', at + key.length, end)
    .split(',')
    .filter((name) => name !== '');
}

async function moduleFiles(dir: string): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>();
  for (const entry of await readdir(dir, { recursive: true, withFileTypes: true })) {
    const match = /^(.+)\.ko(\.xz)?$/.exec(entry.name);
    if (match?.[1] !== undefined) files.set(match[1].replaceAll('-', '_'), join(entry.parentPath, entry.name));
  }
  return files;
}

/** Newer kernels' modules come packed with xz, which Node cannot read. */
async function readModule(file: string, run: RunCommand, signal: AbortSignal): Promise<Uint8Array> {
  if (!file.endsWith('.xz')) return readFile(file, { signal });
  const result = await run(['xz', '--decompress', '--keep', '--force', file], { cwd: '/' }, signal);
  if (result === 'missing') throw new Error('the kernel modules are packed with xz: run "apt-get install xz-utils"');
  if (result.code !== 0) throw new Error(`xz could not unpack ${basename(file)}: ${result.stderr.trim()}`);
  return readFile(file.slice(0, -'.xz'.length), { signal });
}
