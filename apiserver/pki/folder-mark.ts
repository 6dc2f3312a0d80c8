import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { CA_KEYS } from './authority-files.ts';
import { KEY_FILES } from './key-files.ts';

const WATCHED: ReadonlySet<string> = new Set([CA_KEYS, ...Object.values(KEY_FILES).map(({ name }) => name)]);

/** What tells whether any of a folder's keys changed: it differs when one was written, put in place or removed. */
export function folderMark(folder: string): string {
  const marks = readdirSync(folder)
    .filter((name) => WATCHED.has(name))
    .sort()
    .map((name) => {
      const stat = statSync(join(folder, name), { bigint: true, throwIfNoEntry: false });
      return `${name} ${stat?.mtimeNs} ${stat?.size} ${stat?.ino}`;
    });
  return marks.join('\n');
}
