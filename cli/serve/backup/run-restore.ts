import { join, resolve } from 'node:path';
import { readBackupFile } from '../../../apiserver/backup/backup-file.ts';
import type { BackupFile, BackupHeader } from '../../../apiserver/backup/backup-format.ts';
import { withoutLeftOut } from '../../../apiserver/backup/left-out.ts';
import { fillStore, type KeyValue } from '../../../apiserver/store/copy/fill-store.ts';
import { firstDifference } from '../../../apiserver/store/copy/first-difference.ts';
import { storePages } from '../../../apiserver/store/copy/store-pages.ts';
import type { StoreBirth } from '../../../apiserver/store/store.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';
import { Failure } from '../../failure.ts';
import { type Io, printLine, warn } from '../../io.ts';
import { openHome } from '../home.ts';
import { lockHome } from '../lock-home.ts';
import { explainFailure } from './explain-failure.ts';
import { beginRestoring, endRestoring, giveUpRestoring, type MoveTarget, targetOf } from './move-target.ts';
import { readPkiFolder, samePki, writePkiFolder } from './pki-folder.ts';
import type { Place } from './place.ts';
import { Progress } from './progress.ts';
import { checkBackup, checkSeals } from './run-backup.ts';

export interface RestoreOptions extends Place {
  readonly file: string;
  readonly withPki: boolean;
  readonly dryRun: boolean;
}

const OTHER_KEYS = 'leave its keys out with --no-pki, and put those of its servers where the new store looks for them';

/** What revisions are ahead by after a restore: more than a fleet can have written since the backup was taken. */
const AHEAD = 1_000_000_000;

/**
 * Makes a store, and the folder of keys, from a backup. It is another store than the one backed up, with a uid of its own and revisions far above: what
 * clients and hosts remember of the old one means nothing in it. Throws a `Failure`, and then nobody can serve from what is there.
 */
export async function runRestore(io: Io, options: RestoreOptions): Promise<void> {
  const path = resolve(io.cwd, options.file);
  const storePath = join(options.home, 'state.db');
  try {
    const { header, files, seals } = await checkBackup(io, path);
    if (keysTo(files, options)) checkSeals(path, seals, files, OTHER_KEYS);
    const target = targetOf(options.store, storePath);
    if (options.dryRun) {
      await checkEmpty(target, files, options);
      printLine(io, `${path} is whole: ${header.keys} keys and ${files.length} files would go to ${target.name}`);
      return;
    }
    const home = openHome(options.home);
    using _lock = await lockHome(home);
    await checkEmpty(target, files, options);
    const birth = birthOf(header);
    const work = () => fill(io, path, header, target, birth, () => placeKeys(files, options));
    const keys = await (options.store.kind === 'sqlite' ? inOneStep(storePath, path, work) : work());
    tell(io, keys, header, birth, target, files, options);
  } catch (error) {
    io.signal.throwIfAborted();
    throw explainFailure(error, options.store, path);
  }
}

async function inOneStep<T>(storePath: string, file: string, work: () => Promise<T>): Promise<T> {
  beginRestoring(storePath, file);
  let done: T;
  try {
    done = await work();
  } catch (error) {
    giveUpRestoring(storePath);
    throw error;
  }
  endRestoring(storePath);
  return done;
}

async function checkEmpty(target: MoveTarget, files: readonly BackupFile[], options: RestoreOptions): Promise<void> {
  await target.checkEmpty();
  const there = keysTo(files, options) ? readPkiFolder(options.pki) : undefined;
  if (there !== undefined && !samePki(there, files))
    throw new Failure(`there are other keys in ${options.pki} already`, {
      hint: 'move that folder away, or keep it with --no-pki if it has the keys of the backup',
    });
}

const keysTo = (files: readonly BackupFile[], { withPki }: RestoreOptions) => withPki && files.length > 0;

function placeKeys(files: readonly BackupFile[], options: RestoreOptions): void {
  if (keysTo(files, options) && readPkiFolder(options.pki) === undefined) writePkiFolder(options.pki, files);
}

function birthOf({ store, takenAt }: BackupHeader): StoreBirth {
  return { uid: systemIds.uid(), revision: store.revision + AHEAD, origin: { ...store, takenAt } };
}

/** Resolves with how many keys it was. */
async function fill(
  io: Io,
  path: string,
  header: BackupHeader,
  target: MoveTarget,
  birth: StoreBirth,
  beforeFinish: () => void,
): Promise<number> {
  using progress = new Progress(io);
  await using unfinished = await target.open(birth);
  const { store } = unfinished;
  const keys = await fillStore(store, keysOf(path, io.signal), io.signal, (written) =>
    progress.say(`restoring: ${written} of ${header.keys} keys`),
  );
  progress.say('comparing what was restored with the backup');
  const copied = storePages(store, store.revision(), io.signal);
  const difference = await firstDifference(keysOf(path, io.signal), copied);
  if (difference !== undefined)
    throw new Failure(`what was restored is not what is in the backup: ${difference.key} is ${difference.how}`);
  beforeFinish();
  await unfinished.finish();
  return keys;
}

/** What of a backup is restored. */
async function* keysOf(path: string, signal: AbortSignal): AsyncGenerator<readonly KeyValue[]> {
  for await (const record of readBackupFile(path, signal))
    if (record.kind === 'keys') yield withoutLeftOut(record.entries);
}

function tell(
  io: Io,
  keys: number,
  header: BackupHeader,
  birth: StoreBirth,
  target: MoveTarget,
  files: readonly BackupFile[],
  options: RestoreOptions,
): void {
  const { store, takenAt } = header;
  printLine(io, `restored ${keys} keys of store ${store.uid}, as it was on ${takenAt}, to ${target.name}`);
  printLine(io, `it is store ${birth.uid} now, and its revisions go on from ${birth.revision}`);
  if (keysTo(files, options)) printLine(io, `the keys are in ${options.pki}`);
  else if (readPkiFolder(options.pki) === undefined)
    warn(io, `there are no keys in ${options.pki}: put those of the old installation there before you start`);
  printLine(io, 'hosts that knew the old store stop and remove nothing until: coppice host trust-store --all');
}
