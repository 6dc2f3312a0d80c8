import { readdir, stat, statfs } from 'node:fs/promises';
import { availableParallelism, totalmem } from 'node:os';
import { join } from 'node:path';
import type { HostCapacity } from '../driver.ts';

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;

/** What this machine has for guests: its free disk includes what the guests in `guestsDir` take up already, so it stays the same as they come and go. */
export async function hostCapacity(guestsDir: string): Promise<HostCapacity> {
  let taken = 0;
  for (const name of await readdir(guestsDir, { recursive: true })) {
    // A file may go while we look; sparse files count by their blocks.
    taken += ((await stat(join(guestsDir, name)).catch(() => undefined))?.blocks ?? 0) * 512;
  }
  return {
    vcpus: availableParallelism(),
    memoryBytes: Math.floor(totalmem() / MIB) * MIB,
    diskBytes: Math.floor(((await freeDiskBytes(guestsDir)) + taken) / GIB) * GIB,
  };
}

/** What an unprivileged user may still write to the file system of `path`. */
export async function freeDiskBytes(path: string): Promise<number> {
  const disk = await statfs(path);
  return disk.bavail * disk.bsize;
}
