import { copyFile, open, readFile, rename, stat, truncate } from 'node:fs/promises';
import type { Clock } from '../../../resources/ambient/clock.ts';
import { DriverError, type LogOptions } from '../driver.ts';
import type { GuestFiles } from './guest-files.ts';

/** A console log beyond this size is put aside; one old log is kept, so a guest's logs take twice this. */
export const MAX_CONSOLE_BYTES = 4 * 1024 * 1024;

const FOLLOW_MS = 150;
const READ_BYTES = 64 * 1024;

/**
 * Puts a long log aside. QEMU keeps the file open, so it cannot be renamed away: it is copied, then cut to nothing, and QEMU, which appends, goes on at the
 * start. What the guest writes between the copy and the cut is lost.
 */
export async function rotateConsole(files: GuestFiles, maxBytes = MAX_CONSOLE_BYTES): Promise<boolean> {
  const size = await sizeOf(files.console);
  if (size === undefined || size <= maxBytes) return false;
  const temporary = `${files.consoleOld}.tmp`;
  await copyFile(files.console, temporary);
  await rename(temporary, files.consoleOld);
  await truncate(files.console, 0);
  return true;
}

/** The log, the older part first. With `follow` it goes on until the signal aborts or the log is deleted. */
export async function* readConsole(
  files: GuestFiles,
  options: LogOptions,
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  const now = await bytesOf(files.console);
  if (now === undefined) throw new DriverError('NoSuchGuest', `there is no log ${files.console}`);
  const kept = Buffer.concat([(await bytesOf(files.consoleOld)) ?? Buffer.alloc(0), now]);
  const first = lastLines(kept, options.tailLines);
  if (first.length > 0) yield first;
  if (options.follow === true) yield* follow(files, now.length, clock, signal);
}

/** The last words of the console, for messages. */
export async function lastWords(files: GuestFiles, lines: number): Promise<string> {
  const bytes = (await bytesOf(files.console)) ?? Buffer.alloc(0);
  return lastLines(bytes.subarray(-4096), lines).toString('utf8').trim().slice(-300);
}

async function* follow(
  files: GuestFiles,
  from: number,
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  let offset = from;
  while (!signal.aborted) {
    const size = await sizeOf(files.console);
    if (size === undefined) return;
    if (size < offset) {
      // It was rotated: what this reader has not seen of it is in the old log now.
      yield* readFrom(files.consoleOld, offset);
      offset = 0;
    }
    for await (const chunk of readFrom(files.console, offset)) {
      offset += chunk.length;
      yield chunk;
    }
    if (await aborted(clock.sleep(FOLLOW_MS, signal), signal)) return;
  }
}

async function aborted(wait: Promise<void>, signal: AbortSignal): Promise<boolean> {
  try {
    await wait;
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  return signal.aborted;
}

async function* readFrom(path: string, offset: number): AsyncGenerator<Uint8Array, void, undefined> {
  const file = await open(path, 'r').catch(absent);
  if (file === undefined) return;
  try {
    for (let at = offset; ; ) {
      const { bytesRead, buffer } = await file.read(new Uint8Array(READ_BYTES), 0, READ_BYTES, at);
      if (bytesRead === 0) return;
      at += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}

function lastLines(bytes: Buffer, lines: number | undefined): Buffer {
  if (lines === undefined) return bytes;
  if (lines <= 0) return Buffer.alloc(0);
  // A last line without its end counts as one.
  let at = bytes.at(-1) === 10 ? bytes.length - 1 : bytes.length;
  for (let left = lines; left > 0; left--) {
    if (at === 0) return bytes;
    at = bytes.lastIndexOf(10, at - 1);
    if (at < 0) return bytes;
  }
  return bytes.subarray(at + 1);
}

async function bytesOf(path: string): Promise<Buffer | undefined> {
  return await readFile(path).catch(absent);
}

async function sizeOf(path: string): Promise<number | undefined> {
  return (await stat(path).catch(absent))?.size;
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code === 'ENOENT') return undefined;
  throw error;
}
