import { accessSync, constants, mkdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Failure } from '../failure.ts';

/** Where an installation keeps its things. */
export interface Home {
  readonly path: string;
  readonly store: string;
  readonly pki: string;
  readonly kubeconfig: string;
  readonly lock: string;
  readonly log: string;
  readonly images: string;
  readonly cache: string;
  /** The folder of one host. */
  host(name: string): string;
}

/** Makes the folder of an installation, for its owner only. Throws a `Failure` when it cannot be written to. */
export function openHome(path: string): Home {
  try {
    makeFolder(path);
    accessSync(path, constants.W_OK | constants.X_OK);
    for (const folder of ['images', 'hosts', 'log', 'cache']) makeFolder(join(path, folder));
  } catch (error) {
    throw startFailure(error, path);
  }
  return {
    path,
    store: join(path, 'state.db'),
    pki: join(path, 'pki'),
    kubeconfig: join(path, 'kubeconfig'),
    lock: join(path, 'up.pid'),
    log: join(path, 'log', 'coppice.log'),
    images: join(path, 'images'),
    cache: join(path, 'cache'),
    host: (name) => join(path, 'hosts', name),
  };
}

/** A folder for its owner only, and the folders above it. Step by step: Node's own recursive mkdir never returns where a system like /proc says ENOENT. */
function makeFolder(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return;
  if (dirname(path) !== path) makeFolder(dirname(path));
  mkdirSync(path, { mode: 0o700 });
}

/** What the system said about a file, as one sentence. Other errors are given back as they are. */
export function startFailure(error: unknown, path: string): unknown {
  const { code } = (error ?? {}) as NodeJS.ErrnoException;
  const said: Record<string, string> = {
    EACCES: `no permission to use ${path}`,
    EPERM: `no permission to use ${path}`,
    EROFS: `${path} is on a read-only file system`,
    ENOSPC: `the disk that holds ${path} is full`,
    EDQUOT: `the disk quota of ${path} is used up`,
    ENOTDIR: `${path} cannot be made: a part of it is a file`,
    ENOENT: `${path} cannot be made there`,
    EEXIST: `${path} is a file, not a folder`,
  };
  const message = code === undefined ? undefined : said[code];
  if (message === undefined) return error;
  return new Failure(message, { hint: 'choose another folder with --home, or make room in this one', cause: error });
}
