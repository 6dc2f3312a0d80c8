import { BackupFileError } from '../../../apiserver/backup/backup-file.ts';
import { BackupError } from '../../../apiserver/backup/backup-format.ts';
import { StoreError } from '../../../apiserver/store/store.ts';
import { Failure } from '../../failure.ts';
import { etcdFailure } from '../etcd-failure.ts';
import type { StoreOptions } from '../store-options.ts';

/** What can go wrong with files and stores as a `Failure`. Other errors are given back as they are. */
export function explainFailure(error: unknown, store: StoreOptions, file?: string): unknown {
  if (error instanceof StoreError && error.reason === 'Unavailable' && store.kind === 'etcd')
    return etcdFailure(error, store);
  if (error instanceof StoreError || error instanceof BackupFileError || error instanceof BackupError)
    return new Failure(error.message, { cause: error });
  const { code, path = file ?? '' } = (error ?? {}) as NodeJS.ErrnoException;
  const said = SAID[code ?? '']?.(path);
  return said === undefined ? error : new Failure(said, { cause: error });
}

const SAID: Readonly<Record<string, (path: string) => string>> = {
  ENOENT: (path) => `there is no ${path}`,
  EACCES: (path) => `no permission to use ${path}`,
  EPERM: (path) => `no permission to use ${path}`,
  EROFS: (path) => `${path} is on a read-only file system`,
  ENOSPC: (path) => `the disk that holds ${path} is full; nothing was left on it`,
  EFBIG: (path) => `${path} is larger than a file may be here; nothing was left of it`,
  EDQUOT: (path) => `the disk quota of ${path} is used up; nothing was left on it`,
  EISDIR: (path) => `${path} is a folder`,
  ENOTDIR: (path) => `a part of ${path} is a file`,
  EEXIST: (path) => `${path} is there already`,
};
