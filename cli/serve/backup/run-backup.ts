import { existsSync, lstatSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { readBackupFile, writeBackupFile } from '../../../apiserver/backup/backup-file.ts';
import { BackupError, type BackupFile, type BackupHeader } from '../../../apiserver/backup/backup-format.ts';
import { ForeignSeals, ForeignSealsError } from '../../../apiserver/backup/foreign-seals.ts';
import { StoreError } from '../../../apiserver/store/store.ts';
import { machineProcesses } from '../../../nodelet/drivers/qemu/machine-processes.ts';
import { systemClock } from '../../../resources/ambient/system-clock.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';
import { Failure } from '../../failure.ts';
import { type Io, printLine } from '../../io.ts';
import { type OpenSource, openSource } from './backup-source.ts';
import { draftWriter } from './draft-writer.ts';
import { explainFailure } from './explain-failure.ts';
import { readPkiFolder } from './pki-folder.ts';
import type { Place } from './place.ts';
import { Progress } from './progress.ts';

export interface BackupOptions extends Place {
  readonly file: string;
  readonly withPki: boolean;
  readonly kubeconfig: string | undefined;
  readonly force: boolean;
  readonly product: string;
}

const ATTEMPTS = 3;

/** Writes everything in a store, and its keys, to a file. Throws a `Failure`, and then there is no such file. */
export async function runBackup(io: Io, options: BackupOptions): Promise<void> {
  const path = resolve(io.cwd, options.file);
  try {
    checkPlace(path, options.force);
    const files = options.withPki ? keysIn(options.pki) : [];
    const { home } = options;
    const places = { path: join(home, 'state.db'), homeKubeconfig: join(home, 'kubeconfig') };
    await using source = await openSource(io, { ...options, ...places });
    const { header, bytes } = await write(io, source, files, path, options.force);
    const { keys, store } = header;
    printLine(io, `backed up ${keys} keys at revision ${store.revision} of store ${store.uid}, from ${source.from}`);
    printLine(io, withKeys(files.length, options.pki));
    printLine(io, `${path}: ${sizeOf(bytes)}`);
  } catch (error) {
    io.signal.throwIfAborted();
    if (error instanceof ForeignSealsError) throw otherFolder(error, options.pki);
    throw explainFailure(error, options.store, path);
  }
}

/** The folder is that of another installation. */
function otherFolder(error: ForeignSealsError, folder: string): Failure {
  const { missing, there } = error;
  return new Failure(
    `${folder} is not the pki folder of this store: its Secrets are sealed with key ${missing.join(', ')}, and the folder has ${keysSaid(there)}`,
    { hint: 'name the folder of its servers with --pki, or leave the keys out with --no-pki', cause: error },
  );
}

const keysSaid = (ids: readonly string[]) => (ids.length === 0 ? 'no such key' : `key ${ids.join(', ')}`);

/** A device, a pipe or a link would be replaced by the file, and not be written to. */
function checkPlace(path: string, force: boolean): void {
  const there = lstatSync(path, { throwIfNoEntry: false });
  if (there === undefined) {
    if (!existsSync(dirname(path))) throw new Failure(`there is no folder ${dirname(path)}`);
    return;
  }
  if (!force)
    throw new Failure(`${path} is there already`, { hint: 'choose another name, or replace it with --force' });
  if (!there.isFile()) throw new Failure(`${path} is there already, and is no file`, { hint: 'choose another name' });
}

/** Reads a backup to its end and tells of it. Throws a `Failure` when it is not whole. */
export async function verifyBackup(io: Io, file: string): Promise<void> {
  const path = resolve(io.cwd, file);
  try {
    const { header, files, seals } = await checkBackup(io, path);
    checkSeals(path, seals, files, 'take it again with the --pki of its servers');
    const { store, takenAt, product, keys } = header;
    printLine(io, `${path} is whole: ${keys} keys at revision ${store.revision} of store ${store.uid}`);
    printLine(io, `taken on ${takenAt} by Coppice ${product}, ${inIt(files.length)}`);
  } catch (error) {
    io.signal.throwIfAborted();
    throw explainFailure(error, { kind: 'sqlite' }, path);
  }
}

/** Reads a backup to its end. */
export async function checkBackup(
  io: Io,
  path: string,
): Promise<{ readonly header: BackupHeader; readonly files: readonly BackupFile[]; readonly seals: ForeignSeals }> {
  using progress = new Progress(io);
  const files: BackupFile[] = [];
  const seals = new ForeignSeals();
  let header: BackupHeader | undefined;
  let keys = 0;
  for await (const record of readBackupFile(path, io.signal)) {
    if (record.kind === 'header') header = record.header;
    else if (record.kind === 'file') files.push(record.file);
    else {
      keys += record.entries.length;
      seals.look(record.entries);
    }
    progress.say(`checking ${path}: ${keys} of ${header?.keys ?? 0} keys`);
  }
  if (header === undefined) throw new TypeError('a backup without a header');
  return { header, files, seals };
}

/** Throws a `Failure` when the keys in a backup are not those that sealed what is in it. */
export function checkSeals(path: string, seals: ForeignSeals, files: readonly BackupFile[], hint: string): void {
  try {
    seals.check(files);
  } catch (error) {
    if (!(error instanceof ForeignSealsError)) throw error;
    const { missing, there } = error;
    throw new Failure(
      `${path}: the pki folder in it is that of another store: Secrets in it are sealed with key ${missing.join(', ')}, and the folder has ${keysSaid(there)}`,
      { hint, cause: error },
    );
  }
}

async function write(io: Io, source: OpenSource, files: readonly BackupFile[], path: string, force: boolean) {
  const writer = await draftWriter(machineProcesses(systemClock), process.pid);
  for (let attempt = 1; ; attempt++) {
    try {
      using progress = new Progress(io);
      let header: BackupHeader | undefined;
      const lines = watched(source.lines(files, io.signal), (first, bytes) => {
        header ??= JSON.parse(first.toString()) as BackupHeader;
        progress.say(`${sizeOf(bytes)} read, ${header.keys} keys in all`);
      });
      const bytes = await writeBackupFile(path, lines, {
        force,
        ids: systemIds,
        clock: systemClock,
        writer,
        signal: io.signal,
      });
      if (header === undefined) throw new TypeError('a backup without a header');
      return { header, bytes };
    } catch (error) {
      const again =
        (error instanceof StoreError && error.reason === 'Compacted') || (error instanceof BackupError && error.again);
      if (!again || attempt === ATTEMPTS) throw error;
    }
  }
}

/** The same pieces; `tell` hears the first of them and how much there were so far. */
async function* watched(pieces: AsyncIterable<Buffer>, tell: (first: Buffer, bytes: number) => void) {
  let first: Buffer | undefined;
  let bytes = 0;
  for await (const piece of pieces) {
    first ??= piece;
    bytes += piece.length;
    tell(first, bytes);
    yield piece;
  }
}

function keysIn(folder: string): readonly BackupFile[] {
  const files = readPkiFolder(folder);
  if (files !== undefined) return files;
  throw new Failure(`there are no keys in ${folder}, and Secrets in a backup can be read with those only`, {
    hint: 'name the folder with --pki, or leave the keys out with --no-pki and keep them elsewhere',
  });
}

function withKeys(files: number, folder: string): string {
  if (files > 0)
    return `with ${files} files of ${folder}: whoever has the file has all keys, so keep it as safe as them`;
  return 'without the pki folder: Secrets in it can be read only with the keys that sealed them, so keep those too';
}

const inIt = (files: number) => (files === 0 ? 'without the pki folder' : `with ${files} files of the pki folder`);

function sizeOf(bytes: number): string {
  if (bytes < 1 << 20) return `${Math.ceil(bytes / 1024)} KiB`;
  return `${(bytes / (1 << 20)).toFixed(1)} MiB`;
}
