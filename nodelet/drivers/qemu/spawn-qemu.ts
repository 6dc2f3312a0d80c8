import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, rm } from 'node:fs/promises';
import type { Logger } from '../../../resources/ambient/log.ts';
import { DriverError } from '../driver.ts';
import type { GuestFiles } from './guest-files.ts';

/** Starts QEMU in a session of its own and with no pipe to this process: whatever happens here, it goes on. Resolves with its pid. */
export async function spawnQemu(
  binary: string,
  argv: readonly string[],
  files: GuestFiles,
  log: Logger,
): Promise<number> {
  await rm(files.stderr, { force: true });
  // Appending: so that the file can be cut while QEMU holds it.
  const output = await open(files.stderr, 'a', 0o600);
  try {
    const child = spawn(binary, argv, { detached: true, stdio: ['ignore', output.fd, output.fd], cwd: files.dir });
    await once(child, 'spawn').catch((cause) => {
      throw new DriverError('Failed', `cannot run ${binary}`, { cause });
    });
    child.on('error', (error) => log.error('guest process reported an error', { error: String(error) }));
    child.unref();
    if (child.pid === undefined) throw new DriverError('Failed', `${binary} got no process id`);
    return child.pid;
  } finally {
    await output.close();
  }
}

/** Kills the process; one that is gone already is success. */
export function killProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
