import { closeSync, fsyncSync, linkSync, openSync, readdirSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Ids } from '../../../resources/ambient/ids.ts';
import { type StoreBirth, StoreError, type UnfinishedStore } from '../store.ts';
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
  removeSqlite(draft);
  removeBegun(draft);
  const store = await SqliteStore.open({ path: draft, ids, birth });
  return {
    store,
    async finish() {
      await store.compact(store.revision());
      await store[Symbol.asyncDispose]();
      if ((statSync(`${draft}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0)
        throw new StoreError('UnknownOutcome', `${draft} could not be closed whole`);
      sync(draft);
      if (sqliteFilesAt(path)) throw there(path);
      linkSync(draft, path);
      rmSync(draft);
      sync(dirname(path));
    },
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

/** Removes what is left of stores that were killed before they had their name: each was made under one of its own. */
function removeBegun(path: string): void {
  const folder = dirname(path);
  const begun = (name: string) => name.startsWith(`${basename(path)}.`) && /\.new(-wal|-shm|-journal)?$/.test(name);
  for (const name of readdirSync(folder).filter(begun)) rmSync(join(folder, name), { force: true });
}

/** Where a store is while it is filled. */
export function unfinishedPath(path: string): string {
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

function sync(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
