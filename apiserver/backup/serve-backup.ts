import type { Clock } from '../../resources/ambient/clock.ts';
import type { KeyValue } from '../store/copy/fill-store.ts';
import { countKeys, storePages } from '../store/copy/store-pages.ts';
import { type Store, StoreError } from '../store/store.ts';
import { BACKUP_FORMAT, type BackupFile, DATA_SCHEMA } from './backup-format.ts';
import { LEFT_OUT, withoutLeftOut } from './left-out.ts';
import { writeBackup } from './write-backup.ts';

interface BackupSource {
  readonly store: Store;
  readonly clock: Clock;
  /** The version of Coppice. */
  readonly product: string;
  readonly files: readonly BackupFile[];
}

/** The lines of a backup of a store as it is now, without what no backup has, read as they are taken. Throws StoreError, `Compacted` when history went on faster than its reader. */
export async function* storeBackup(source: BackupSource, signal: AbortSignal): AsyncGenerator<Buffer> {
  const { store, clock, product, files } = source;
  const revision = (await store.latest?.({ signal })) ?? store.revision();
  const header = {
    coppiceBackup: BACKUP_FORMAT,
    schema: DATA_SCHEMA,
    store: { uid: store.uid, revision },
    takenAt: new Date(clock.now()).toISOString(),
    product,
    files: files.length,
    keys: await countKept(store, revision, signal),
  };
  yield* writeBackup(header, files, keptPages(store, revision, signal));
}

async function countKept(store: Store, revision: number, signal: AbortSignal): Promise<number> {
  let kept = await countKeys(store, '', revision, signal);
  for (const prefix of LEFT_OUT) kept -= await countKeys(store, prefix, revision, signal);
  return kept;
}

async function* keptPages(store: Store, revision: number, signal: AbortSignal): AsyncGenerator<readonly KeyValue[]> {
  for await (const page of storePages(store, revision, signal)) yield withoutLeftOut(page);
}

/** The same to be sent: what goes wrong once it has begun is its last line. */
export async function* servedBackup(source: BackupSource, signal: AbortSignal): AsyncGenerator<Buffer> {
  try {
    yield* storeBackup(source, signal);
  } catch (error) {
    if (!(error instanceof StoreError) || signal.aborted) throw error;
    const again = error.reason === 'Compacted' || error.reason === 'Unavailable';
    yield Buffer.from(`${JSON.stringify({ failed: error.message, again })}\n`);
  }
}
