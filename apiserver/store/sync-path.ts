import { closeSync, fsyncSync, openSync } from 'node:fs';

/** Has what a file or folder holds on the disk when it returns; a rename or a new file lasts once its folder is there. */
export function syncPath(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
