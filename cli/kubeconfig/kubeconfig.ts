import { createReadStream, existsSync } from 'node:fs';
import { delimiter, dirname, isAbsolute, join, resolve } from 'node:path';
import { load } from 'js-yaml';
import { isObject, type JsonObject } from '../../resources/meta/object.ts';
import { Failure } from '../failure.ts';
import { coppiceHome, type Io } from '../io.ts';

/** Several kubeconfig files as one: names to what they name. File paths inside are absolute. */
export interface Kubeconfig {
  readonly files: readonly string[];
  readonly currentContext: string | undefined;
  readonly clusters: ReadonlyMap<string, JsonObject>;
  readonly users: ReadonlyMap<string, JsonObject>;
  readonly contexts: ReadonlyMap<string, JsonObject>;
}

/** Fields that name files, relative to the kubeconfig they stand in. */
const PATHS = ['certificate-authority', 'client-certificate', 'client-key', 'tokenFile'];
const MOST_BYTES = 16 << 20;
const UNREAD: Readonly<Record<string, string>> = { EACCES: 'no permission to read it', EISDIR: 'it is a folder' };

/** The files used: `--kubeconfig`, else `$KUBECONFIG`, else the one in the home if it is there, else `~/.kube/config`. */
export function kubeconfigFiles(io: Io, flag: string | undefined): string[] {
  if (flag !== undefined) return [resolve(io.cwd, flag)];
  const listed = (io.env.KUBECONFIG ?? '').split(delimiter).filter((path) => path !== '');
  if (listed.length > 0) return listed.map((path) => resolve(io.cwd, path));
  const own = resolve(io.cwd, join(coppiceHome(io), 'kubeconfig'));
  return existsSync(own) ? [own] : [join(io.userHome, '.kube', 'config')];
}

/** Reads and joins them; the first file to name something wins, as with kubectl. Files of a list that are not there are passed over. */
export async function loadKubeconfig(io: Io, flag: string | undefined): Promise<Kubeconfig> {
  const files = kubeconfigFiles(io, flag);
  const parts: KubeconfigFile[] = [];
  for (const file of files) {
    const part = await readKubeconfigFile(file);
    if (part !== undefined) parts.push(part);
  }
  if (parts.length === 0) {
    throw new Failure(`no kubeconfig: ${files.join(', ')} is not there`, {
      hint: 'start a control plane with npm start or coppice up, or name a file with --kubeconfig or $KUBECONFIG',
    });
  }
  const join = (pick: (part: KubeconfigFile) => ReadonlyMap<string, JsonObject>) =>
    new Map(parts.toReversed().flatMap((part) => [...pick(part)]));
  return {
    files,
    currentContext: parts.find((part) => part.currentContext !== undefined)?.currentContext,
    clusters: join((part) => part.clusters),
    users: join((part) => part.users),
    contexts: join((part) => part.contexts),
  };
}

type KubeconfigFile = Omit<Kubeconfig, 'files'>;

/** One file; undefined when it is not there. */
export async function readKubeconfigFile(file: string): Promise<KubeconfigFile | undefined> {
  let text: string;
  try {
    text = await readText(file);
  } catch (error) {
    if (error instanceof Failure) throw error;
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT') return undefined;
    const why = UNREAD[String(code)] ?? `it cannot be read (${String(code)})`;
    throw new Failure(`kubeconfig ${file}: ${why}`, { cause: error });
  }
  return parseKubeconfig(file, text);
}

/** A pipe is read as a file is, and a device that has no end (/dev/zero, say) no further than a kubeconfig goes. */
async function readText(file: string): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of createReadStream(file) as AsyncIterable<Buffer>) {
    pieces.push(piece);
    bytes += piece.length;
    if (bytes > MOST_BYTES) throw new Failure(`kubeconfig ${file}: it is larger than 16 MiB, so it is none`);
  }
  return Buffer.concat(pieces).toString('utf8');
}

export function parseKubeconfig(file: string, text: string): KubeconfigFile {
  let value: unknown;
  try {
    value = text.trim() === '' ? {} : load(text, { maxAliases: 100 });
  } catch (cause) {
    const reason = cause instanceof Error ? (cause.message.split('\n')[0] ?? '') : '';
    throw new Failure(`kubeconfig ${file} is not valid YAML: ${reason}`, { cause });
  }
  if (!isObject(value)) throw new Failure(`kubeconfig ${file} does not hold an object`);
  const current = value['current-context'];
  return {
    currentContext: typeof current === 'string' && current !== '' ? current : undefined,
    clusters: named(value.clusters, 'cluster', file),
    users: named(value.users, 'user', file),
    contexts: named(value.contexts, 'context', file),
  };
}

/** The `[{name, cluster: {…}}]` form as a map. */
function named(list: unknown, field: string, file: string): Map<string, JsonObject> {
  const out = new Map<string, JsonObject>();
  if (!Array.isArray(list)) return out;
  for (const entry of list) {
    if (!isObject(entry) || typeof entry.name !== 'string') continue;
    const content = entry[field];
    if (!out.has(entry.name)) out.set(entry.name, absolutePaths(isObject(content) ? content : {}, dirname(file)));
  }
  return out;
}

function absolutePaths(content: JsonObject, folder: string): JsonObject {
  const out = { ...content };
  for (const field of PATHS) {
    const path = out[field];
    if (typeof path === 'string' && path !== '' && !isAbsolute(path)) out[field] = join(folder, path);
  }
  return out;
}
