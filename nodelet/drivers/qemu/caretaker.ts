import { stat, statfs, truncate } from 'node:fs/promises';
import type { Clock } from '../../../resources/ambient/clock.ts';
import type { Logger } from '../../../resources/ambient/log.ts';
import { withDeadline } from '../../../resources/ambient/with-deadline.ts';
import { rotateConsole } from './console-log.ts';
import type { QemuGuest } from './qemu-guest.ts';

const ROUND_MS = 2000;
/** A guest that waits for disk space goes on once this much is free: with less it would stop again at once. */
const SPACE_TO_GO_ON = 64 * 1024 * 1024;
const MAX_STDERR = 1024 * 1024;
/** A monitor that hangs keeps nobody else waiting. */
const COMMAND_MS = 2000;

/** Goes round the running guests every two seconds until the signal aborts: bounds their logs, and lets go on who waited for disk space that is there now. */
export async function takeCare(
  guests: () => Iterable<QemuGuest>,
  clock: Clock,
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(ROUND_MS, signal).catch((error) => {
      if (!signal.aborted) throw error;
    });
    for (const guest of guests()) {
      if (signal.aborted) return;
      if (guest.process === undefined) continue;
      await careFor(guest, clock, signal).catch((error) => {
        if (!signal.aborted) log.error('guest not cared for', { guest: guest.spec.id, error: String(error) });
      });
    }
  }
}

async function careFor(guest: QemuGuest, clock: Clock, signal: AbortSignal): Promise<void> {
  await rotateConsole(guest.files);
  const said = await stat(guest.files.stderr).catch(() => undefined);
  if (said !== undefined && said.size > MAX_STDERR) await truncate(guest.files.stderr, 0);
  const { process } = guest;
  if (process?.problem?.reason !== 'DiskFull' || process.status !== 'io-error') return;
  const disk = await statfs(guest.files.dir);
  if (disk.bavail * disk.bsize < SPACE_TO_GO_ON) return;
  await withDeadline(clock, COMMAND_MS, signal, (s) => process.command('cont', s));
}
