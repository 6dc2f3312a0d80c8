import { createReadStream, createWriteStream } from 'node:fs';
import { link, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import type { Clock } from '../../resources/ambient/clock.ts';
import type { Ids } from '../../resources/ambient/ids.ts';
import { BackupError, type BackupRecord } from './backup-format.ts';
import { readBackup } from './read-backup.ts';
import { type DraftWriter, draftName, removeStaleDrafts } from './stale-drafts.ts';

interface WriteFileOptions {
  /** Replaces a file that is there. Without it that is an error of the system, EEXIST. */
  readonly force: boolean;
  readonly ids: Ids;
  readonly clock: Clock;
  readonly writer: DraftWriter;
  readonly signal: AbortSignal;
}

const DRAFT_NAME_BYTES = 4;

/**
 * Writes the lines of a backup to a file that only its owner may read: compressed, on the disk when this resolves, and whole or not at all. What
 * writers of it left that were killed is removed. Resolves with its size in bytes.
 */
export async function writeBackupFile(
  path: string,
  lines: AsyncIterable<Uint8Array>,
  { force, ids, clock, writer, signal }: WriteFileOptions,
): Promise<number> {
  await removeStaleDrafts(path, writer, clock.now());
  // A name of its own, and new: two that write the same backup at once do not mix theirs, and what somebody else put there beforehand is not written to.
  const draft = draftName(path, writer, ids.secret(DRAFT_NAME_BYTES));
  try {
    const output = createWriteStream(draft, { flags: 'wx', mode: 0o600, flush: true });
    await pipeline(Readable.from(lines, { objectMode: false }), createGzip(), output, { signal });
    if (force) await rename(draft, path);
    else await link(draft, path);
    await syncFolder(dirname(path));
    return output.bytesWritten;
  } finally {
    await rm(draft, { force: true });
  }
}

/** A backup that was read from a file is damaged, cut, foreign or newer; says where. */
export class BackupFileError extends Error {
  constructor(path: string, message: string, options: ErrorOptions) {
    super(`${path}: ${message}`, options);
    this.name = 'BackupFileError';
  }
}

/** Reads a backup from a file, at its reader's pace: see `readBackup`. Throws `BackupFileError`, or the system's error. */
export async function* readBackupFile(path: string, signal: AbortSignal): AsyncGenerator<BackupRecord> {
  const { size } = await stat(path);
  const source = createReadStream(path, { signal });
  const unpacked = createGunzip();
  const packing = pipeline(source, unpacked);
  packing.catch(() => {});
  try {
    yield* readBackup(unpacked);
    // What follows a gzip and is none is left out without a word.
    if (unpacked.bytesWritten < size) throw new BackupError('it goes on after its end', { line: 0, section: 'end' });
  } catch (error) {
    signal.throwIfAborted();
    throw fileError(error, path, unpacked.bytesWritten, size);
  } finally {
    source.destroy();
    unpacked.destroy();
  }
}

function fileError(error: unknown, path: string, offset: number, size: number): unknown {
  const cause = { cause: error };
  if (error instanceof BackupError) {
    const { line, section } = error.where;
    const where = line === 0 ? `${section}` : `line ${line}, ${section}`;
    return new BackupFileError(path, `${error.message} (${where}; byte ${offset} of ${size})`, cause);
  }
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'Z_BUF_ERROR') return new BackupFileError(path, `it is cut off at byte ${size}`, cause);
  if (typeof code !== 'string' || !code.startsWith('Z_')) return error;
  if (String(error).includes('incorrect header check'))
    return new BackupFileError(path, 'it is no backup of Coppice', cause);
  return new BackupFileError(path, `it is damaged at or before byte ${offset} of ${size}`, cause);
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
