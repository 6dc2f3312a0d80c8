import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import type { BackupFile } from '../../../apiserver/backup/backup-format.ts';
import { writePrivate } from '../../../apiserver/pki/write-private.ts';
import { Failure } from '../../failure.ts';

/** Files that say something of a moment only: locks, and drafts. */
const PASSING = /^turn(-.*)?$|\.tmp$/;
const ATTEMPTS = 10;

/** The files of a pki folder as they were at one moment, in order; undefined when there is no such folder, or it is empty. */
export function readPkiFolder(folder: string): readonly BackupFile[] | undefined {
  let before = look(folder);
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const after = look(folder);
    if (JSON.stringify(before?.map(plain)) === JSON.stringify(after?.map(plain))) return after;
    before = after;
  }
  throw new Failure(`the files in ${folder} change all the time`, { hint: 'wait until the keys are changed' });
}

/** Makes the folder with these files, whole or not at all. It must not be there, or be empty. */
export function writePkiFolder(folder: string, files: readonly BackupFile[]): void {
  const draft = `${folder}.restoring`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { mode: 0o700 });
  for (const { path, data } of files) {
    const file = join(draft, ...path.split('/'));
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writePrivate(file, Buffer.from(data));
  }
  renameSync(draft, folder);
}

/** Whether two folders hold the same. */
export function samePki(a: readonly BackupFile[], b: readonly BackupFile[]): boolean {
  return JSON.stringify(a.map(plain)) === JSON.stringify(b.map(plain));
}

const plain = ({ path, data }: BackupFile) => [path, Buffer.from(data).toString('base64')];

function look(folder: string): readonly BackupFile[] | undefined {
  try {
    const files = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !PASSING.test(entry.name))
      .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/'))
      .sort()
      .map((path) => {
        const file = join(folder, path);
        return { path, mode: statSync(file).mode & 0o777, data: readFileSync(file) };
      });
    return files.length === 0 ? undefined : files;
  } catch (error) {
    // The folder is not there, or a file was replaced just then: the next look finds out.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
