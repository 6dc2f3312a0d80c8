import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { BadKeyFileError } from '../../../apiserver/pki/bad-key-file-error.ts';
import { keyFilePath } from '../../../apiserver/pki/key-files.ts';
import { Failure } from '../../failure.ts';
import { coppiceHome, type Io } from '../../io.ts';

/** Which folder of keys, and the home of the kubeconfig that goes with it. */
export interface KeyFolderFlags {
  readonly home: string | undefined;
  readonly pki: string | undefined;
}

export interface KeyFolder {
  readonly home: string;
  /** The folder of keys. */
  readonly path: string;
  readonly kubeconfig: string;
}

/** Throws a `Failure` where there is no folder of keys. */
export function keyFolderOf(io: Io, flags: KeyFolderFlags): KeyFolder {
  const home = resolve(io.cwd, coppiceHome(io, flags.home));
  const path = flags.pki === undefined ? join(home, 'pki') : resolve(io.cwd, flags.pki);
  if (!existsSync(keyFilePath(path, 'ca')))
    throw new Failure(`${path} is no folder of keys`, {
      hint: 'a server makes one when it starts; name another with --home or --pki',
    });
  return { home, path, kubeconfig: join(home, 'kubeconfig') };
}

/** What `work` resolves to; that a file of the folder holds something else is told as a `Failure`. */
export async function readingKeys<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof BadKeyFileError)) throw error;
    throw new Failure(error.message, { hint: 'put back the one that belongs there', cause: error });
  }
}
