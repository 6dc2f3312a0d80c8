import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** A folder for its owner only, and the folders above it. Step by step: Node's own recursive mkdir never returns where a system like /proc says ENOENT. */
export function makeFolder(path: string): void {
  if (isFolder(path)) return;
  if (dirname(path) !== path) makeFolder(dirname(path));
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another start was quicker.
    if (!isFolder(path)) throw error;
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
