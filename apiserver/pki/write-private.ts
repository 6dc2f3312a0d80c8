import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { syncPath } from '../store/sync-path.ts';

/** Writes a file that only its owner may read, whole or not at all. When it returns, a power loss leaves what was written. */
export function writePrivate(path: string, content: string | Uint8Array): void {
  const draft = `${path}.${process.pid}.tmp`;
  const file = openSync(draft, 'w', 0o600);
  try {
    try {
      writeFileSync(file, content);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(draft, path);
  } catch (error) {
    // Half of a key is of no use to anybody who may find it.
    rmSync(draft, { force: true });
    // The system does not say of which file a write is that failed.
    throw error instanceof Error ? Object.assign(error, { path: draft }) : error;
  }
  syncPath(dirname(path));
}
