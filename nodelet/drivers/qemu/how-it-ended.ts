import { readFile } from 'node:fs/promises';
import type { DriverError } from '../driver.ts';
import { classifyFailure } from './classify-failure.ts';
import { lastWords } from './console-log.ts';
import type { GuestFiles } from './guest-files.ts';
import type { GuestState } from './guest-record.ts';

/** The state of a guest whose process is not there any more: off, and why, as well as it can be told from what is on disk. */
export async function howItEnded(
  state: GuestState,
  hostRebooted: boolean,
  label: string,
  files: GuestFiles,
): Promise<GuestState> {
  const {
    pid: _pid,
    startTime: _startTime,
    bootId: _bootId,
    stopReason: _stopReason,
    message: _message,
    ...kept
  } = state;
  const off: GuestState = { ...kept, phase: 'Off' };
  if (state.phase === 'Stopping') return { ...off, stopReason: 'Requested' };
  if (hostRebooted) return { ...off, stopReason: 'HostRebooted', message: 'the host was restarted' };
  if (state.phase === 'Starting')
    return { ...off, stopReason: 'StartFailed', message: (await startFailure(label, files)).message };
  if (state.shutdownReason === 'guest-shutdown') {
    return { ...off, stopReason: 'GuestShutdown', message: 'the guest powered itself off' };
  }
  if (state.shutdownReason?.startsWith('guest-')) {
    // A panic looks the same as a reboot from outside; the console tells them apart.
    const words = await lastWords(files, 2);
    const message = `the guest restarted or panicked (${state.shutdownReason}); its console ends: ${words}`;
    return { ...off, stopReason: 'GuestShutdown', message };
  }
  return { ...off, stopReason: 'Crashed', message: await epitaph(files) };
}

/** Why QEMU gave up on a start. */
export async function startFailure(label: string, files: GuestFiles): Promise<DriverError> {
  return classifyFailure(label, await stderrOf(files));
}

async function epitaph(files: GuestFiles): Promise<string> {
  const said = (await stderrOf(files)).trim().split('\n').at(-1) ?? '';
  const words = said === '' ? await lastWords(files, 2) : said.slice(-300);
  return `its QEMU process died${words === '' ? '' : `; last words: ${words}`}`;
}

async function stderrOf(files: GuestFiles): Promise<string> {
  return (await readFile(files.stderr, 'utf8').catch(() => '')).slice(-4096);
}
