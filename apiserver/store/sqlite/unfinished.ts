import { linkSync, readdirSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Ids } from '../../../resources/ambient/ids.ts';
import { type StoreBirth, StoreError, type UnfinishedStore } from '../store.ts';
import { syncPath } from '../sync-path.ts';
import { SqliteStore } from './store.ts';

/**
 * A store that is filled beside `path`, as `path.unfinished`, and appears at `path` whole when it is finished; what an earlier try left there is
 * removed. Never replaces a file: StoreError `Unreadable` when there is one. One process at a time: its caller sees to that.
 */
export async function openUnfinishedSqlite(
  { path, ids }: { readonly path: string; readonly ids: Ids },
  birth: StoreBirth,
): Promise<UnfinishedStore> {
  if (sqliteFilesAt(path)) throw there(path);
  const draft = unfinishedPath(path);
  removeUnfinished(path);
  const store = await SqliteStore.open({ path: draft, ids, birth });
  return {
    store,
    async finish() {
      await store.compact(store.revision());
      await store[Symbol.asyncDispose]();
      if ((statSync(`${draft}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0)
        throw new StoreError('UnknownOutcome', `${draft} could not be closed whole`);
      syncPath(draft);
      if (sqliteFilesAt(path)) throw there(path);
      linkSync(draft, path);
      rmSync(draft);
      syncPath(dirname(path));
    },
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

/** Removes what was filled beside `path` and never finished: the store, what SQLite keeps beside it, and drafts of it that a kill left. */
export function removeUnfinished(path: string): void {
  const name = basename(unfinishedPath(path));
  for (const file of readdirSync(dirname(path)))
    if (file === name || file.startsWith(`${name}-`) || file.startsWith(`${name}.`)) rmSync(join(dirname(path), file));
}

function unfinishedPath(path: string): string {
  return `${path}.unfinished`;
}

/** Whether there is anything of a store at that path. */
export function sqliteFilesAt(path: string): boolean {
  return ['', '-wal'].some((end) => statSync(path + end, { throwIfNoEntry: false }) !== undefined);
}

/** Removes a store and what SQLite keeps beside it. */
export function removeSqlite(path: string): void {
  for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true });
}

function there(path: string): StoreError {
  return new StoreError('Unreadable', `there is a store at ${path} already`);
}
