import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { RunCommand } from './run-command.ts';

export interface DebianPackage {
  readonly name: string;
  readonly version: string;
  readonly sha256: string;
}

/** Reads apt's lists and fetches packages; installs nothing and needs no root. Errors say what to run. */
export class DebianPackages {
  readonly #run: RunCommand;

  constructor(run: RunCommand) {
    this.#run = run;
  }

  /** The newest version of a package that apt's lists know. */
  async find(name: string, signal: AbortSignal): Promise<DebianPackage> {
    const fields = await this.#show(name, signal);
    const version = fields.get('Version');
    const sha256 = fields.get('SHA256');
    if (version === undefined || sha256 === undefined || !/^[0-9a-f]{64}$/.test(sha256)) throw unknown(name);
    return { name, version, sha256 };
  }

  /** The first package `name` depends on whose name starts with `prefix`: how a metapackage names the kernel of the day. */
  async dependency(name: string, prefix: string, signal: AbortSignal): Promise<string> {
    const depends = (await this.#show(name, signal)).get('Depends') ?? '';
    const found = depends.split(',').map((part) => part.trim().split(' ')[0] ?? '');
    const match = found.find((part) => part.startsWith(prefix) && /^[a-z0-9][a-z0-9.+-]*$/.test(part));
    if (match === undefined) throw new Error(`package ${name} depends on no ${prefix}*: run "apt-get update"`);
    return match;
  }

  /** The path of the package's file in `cacheDir`, downloaded unless it is there whole. */
  async download(wanted: DebianPackage, cacheDir: string, signal: AbortSignal): Promise<string> {
    const path = join(cacheDir, `${wanted.name}-${wanted.sha256}.deb`);
    if ((await sha256Of(path)) === wanted.sha256) return path;
    await mkdir(cacheDir, { recursive: true });
    const dir = await mkdtemp(join(cacheDir, 'download-'));
    try {
      await this.#checked(['apt-get', 'download', '--quiet', `${wanted.name}=${wanted.version}`], dir, signal);
      const file = (await readdir(dir)).find((name) => name.endsWith('.deb'));
      if (file === undefined) throw new Error(`apt-get downloaded nothing for ${wanted.name}: run "apt-get update"`);
      const sha256 = await sha256Of(join(dir, file));
      if (sha256 !== wanted.sha256) throw new Error(`${wanted.name} came with digest ${sha256}, not ${wanted.sha256}`);
      await rename(join(dir, file), path);
      return path;
    } finally {
      await rm(dir, { recursive: true, force: true });
    }
  }

  async unpack(file: string, into: string, signal: AbortSignal): Promise<void> {
    await mkdir(into, { recursive: true });
    await this.#checked(['dpkg-deb', '--extract', file, into], into, signal);
  }

  async #show(name: string, signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    const result = await this.#run(['apt-cache', 'show', '--no-all-versions', name], { cwd: '/' }, signal);
    if (result === 'missing') throw notDebian('apt-cache');
    if (result.code !== 0) throw unknown(name);
    const lines = result.stdout.split('\n').map((line) => /^([A-Za-z0-9-]+): (.*)$/.exec(line));
    return new Map(lines.flatMap((match) => (match?.[1] && match[2] ? [[match[1], match[2]] as const] : [])));
  }

  async #checked(argv: readonly [string, ...string[]], cwd: string, signal: AbortSignal): Promise<void> {
    const result = await this.#run(argv, { cwd }, signal);
    if (result === 'missing') throw notDebian(argv[0]);
    if (result.code !== 0)
      throw new Error(`${argv.slice(0, 2).join(' ')} failed (${result.code}): ${result.stderr.trim()}`);
  }
}

function notDebian(tool: string): Error {
  return new Error(
    `${tool} is missing: the tiny-linux image is made from Debian packages; build it on a Debian host and copy the image's folder`,
  );
}

function unknown(name: string): Error {
  return new Error(`apt's lists know no package ${name}: run "apt-get update" as root (Debian has it; Ubuntu has not)`);
}

async function sha256Of(path: string): Promise<string | undefined> {
  const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  return bytes === undefined ? undefined : createHash('sha256').update(bytes).digest('hex');
}
