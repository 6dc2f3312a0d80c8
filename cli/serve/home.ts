import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { Failure } from '../failure.ts';
import { makeFolder } from './make-folder.ts';

/** The file in a home that processes of controllers speak to its server by. */
export const CONTROLLERS_KUBECONFIG = 'controllers.kubeconfig';

/** Where an installation keeps its things. */
export interface Home {
  readonly path: string;
  readonly store: string;
  readonly pki: string;
  readonly kubeconfig: string;
  /** What processes of controllers speak to the server by. */
  readonly controllersKubeconfig: string;
  readonly lock: string;
  /** What this home's server is called. */
  readonly serverName: string;
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
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
    for (const folder of ['images', 'hosts', 'log', 'cache']) makeFolder(join(path, folder));
  } catch (error) {
    throw startFailure(error, path);
  }
  return {
    path,
    store: join(path, 'state.db'),
    pki: join(path, 'pki'),
    kubeconfig: join(path, 'kubeconfig'),
    controllersKubeconfig: join(path, CONTROLLERS_KUBECONFIG),
    lock: join(path, 'up.pid'),
    serverName: join(path, 'server.json'),
    log: join(path, 'log', 'coppice.log'),
    images: join(path, 'images'),
    cache: join(path, 'cache'),
    host: (name) => join(path, 'hosts', name),
  };
}

const ROOM = 'make room there, or choose another folder with --home';
const OTHER = 'choose another folder with --home';

/** What the system said about a file, as one sentence, and what to do. */
const SAID: Readonly<Record<string, (path: string) => readonly [message: string, hint: string]>> = {
  EACCES: (path) => [`no permission to use ${path}`, OTHER],
  EPERM: (path) => [`no permission to use ${path}`, OTHER],
  EROFS: (path) => [`${path} is on a read-only file system`, OTHER],
  ENOSPC: (path) => [`the disk that holds ${path} is full`, ROOM],
  EDQUOT: (path) => [`the disk quota of ${path} is used up`, ROOM],
  ENOTDIR: (path) => [`${path} cannot be made: a part of it is a file`, OTHER],
  ENOENT: (path) => [`${path} cannot be made there`, OTHER],
  EEXIST: (path) => [`${path} is a file, not a folder`, OTHER],
  EISDIR: (path) => [`${path} is a folder, not a file`, `move it away, or ${OTHER}`],
  ENAMETOOLONG: (path) => [`${path} is too long a name`, OTHER],
  ELOOP: (path) => [`${path} leads to itself through symbolic links`, OTHER],
};

const WHOLE_DISK = new Set(['ENOSPC', 'EDQUOT', 'EROFS']);

/** An error of the file system below `home`, which `flag` names, as a `Failure`. Other errors are given back as they are. */
export function startFailure(error: unknown, home: string, flag = '--home'): unknown {
  const { code = '', path = home } = (error ?? {}) as NodeJS.ErrnoException;
  // What lies elsewhere (/proc, say) is no matter of the home.
  const related = path === home || path.startsWith(join(home, '/')) || home.startsWith(join(path, '/'));
  const said = related ? SAID[code] : undefined;
  if (said === undefined) return error;
  // Of a whole disk the file that happened to be written says nothing.
  const [message, hint] = said(WHOLE_DISK.has(code) ? home : path);
  return new Failure(message, { hint: hint.replace('--home', flag), cause: error });
}
