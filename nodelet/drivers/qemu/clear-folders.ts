import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DriverError } from '../driver.ts';
import { guestFiles, type SocketRoot } from './guest-files.ts';

const NAMES_SHOWN = 3;

/** Deletes everything in the folder of guests, and the places of their sockets. Resolves with how many there were; throws `Failed` if one does not go. */
export async function clearFolders(dir: string, sockets: SocketRoot, signal: AbortSignal): Promise<number> {
  const names = await readdir(dir);
  const failures: unknown[] = [];
  for (const name of names) {
    signal.throwIfAborted();
    const { dir: folder, socketDir } = guestFiles(join(dir, name), sockets);
    try {
      await rm(folder, { recursive: true, force: true });
      if (socketDir !== folder) await rm(socketDir, { recursive: true, force: true });
    } catch (error) {
      failures.push(error);
    }
  }
  const left = await readdir(dir);
  if (left.length > 0) {
    const shown = [...left.slice(0, NAMES_SHOWN), ...(left.length > NAMES_SHOWN ? ['…'] : [])].join(', ');
    throw new DriverError('Failed', `${dir} still has ${shown}`, { cause: failures[0] });
  }
  return names.length;
}
