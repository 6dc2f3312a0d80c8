import { existsSync, realpathSync } from 'node:fs';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join, resolve } from 'node:path';
import { load } from 'js-yaml';
import { isObject, type JsonObject } from '../../resources/meta/object.ts';
import { Failure } from '../failure.ts';
import { coppiceHome, type Io, printLine } from '../io.ts';
import { quoted } from '../render/shell-word.ts';
import { renderYaml } from '../render/yaml.ts';

export interface KubeconfigOptions {
  readonly home: string | undefined;
  readonly raw: boolean;
  readonly merge: boolean;
}

/** Shows or merges the kubeconfig that `coppice up` wrote into a home. */
export async function kubeconfig(io: Io, options: KubeconfigOptions): Promise<void> {
  const file = resolve(io.cwd, join(coppiceHome(io, options.home), 'kubeconfig'));
  if (!existsSync(file))
    throw new Failure(`${file} is not there`, { hint: 'coppice up writes it; name another home with --home' });
  if (options.raw) {
    io.stdout.write(await readFile(file, 'utf8'));
    return;
  }
  if (!options.merge) return printLine(io, `export KUBECONFIG=${quoted(file)}`);
  const target = mergeTarget(io, file);
  const ours = await readYaml(file);
  await writePrivately(target, renderYaml(mergeKubeconfig(existsSync(target) ? await readYaml(target) : {}, ours)));
  printLine(io, `merged into ${target}; use it with kubectl --context ${String(ours['current-context'])}`);
}

/** The user's own kubeconfig. Where a shell was pointed at ours, which is `from`, it is the one that kubectl uses otherwise. */
function mergeTarget(io: Io, from: string): string {
  const listed = (io.env.KUBECONFIG ?? '').split(delimiter).filter((path) => path !== '');
  const others = listed.map((path) => resolve(io.cwd, path)).filter((path) => !isSameFile(path, from));
  return others[0] ?? join(io.userHome, '.kube', 'config');
}

function isSameFile(a: string, b: string): boolean {
  if (!existsSync(a) || !existsSync(b)) return a === b;
  return realpathSync(a) === realpathSync(b);
}

/** `theirs` with our clusters, users and contexts put in (replacing those of the same name). Their current context stays, if they have one. */
export function mergeKubeconfig(theirs: JsonObject, ours: JsonObject): JsonObject {
  const join = (field: string) => {
    const mine = entries(ours[field]);
    const names = new Set(mine.map((entry) => entry.name));
    return [...entries(theirs[field]).filter((entry) => !names.has(entry.name)), ...mine];
  };
  return {
    apiVersion: 'v1',
    kind: 'Config',
    preferences: {},
    ...theirs,
    clusters: join('clusters'),
    users: join('users'),
    contexts: join('contexts'),
    'current-context': theirs['current-context'] || ours['current-context'],
  };
}

const entries = (value: unknown): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : []);

async function readYaml(file: string): Promise<JsonObject> {
  const text = await readFile(file, 'utf8');
  try {
    const value: unknown = text.trim() === '' ? {} : load(text, { maxAliases: 100 });
    if (isObject(value)) return value;
  } catch (cause) {
    throw new Failure(`${file} is not valid YAML, so nothing was merged into it`, { cause });
  }
  throw new Failure(`${file} is not a kubeconfig, so nothing was merged into it`);
}

/** Whole or not at all, and readable by its owner only: it holds credentials. */
async function writePrivately(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const draft = `${file}.${process.pid}.tmp`;
  await writeFile(draft, text, { mode: 0o600 });
  await rename(draft, file);
}
