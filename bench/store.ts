import { DatabaseSync } from 'node:sqlite';
import type { BeforeCommit } from '../apiserver/store/engine.ts';
import { SqliteStore } from '../apiserver/store/sqlite/store.ts';
import type { Clock } from '../resources/ambient/clock.ts';
import type { Ids } from '../resources/ambient/ids.ts';

export interface StoreLoad {
  /** Where the store file is made; must not exist. */
  readonly path: string;
  /** Writers that each wait for their write before the next: the group a commit can have. */
  readonly writers: number;
  readonly operations: number;
  readonly keys: number;
  readonly valueBytes: number;
  /** Added to every commit, as a slower disk would. */
  readonly commitDelayMs?: number;
}

/** Durable compare-and-put through the store, operations a second. */
export async function storeRate(load: StoreLoad, clock: Clock, ids: Ids): Promise<number> {
  const { commitDelayMs: delayMs = 0, path } = load;
  const beforeCommit: BeforeCommit = async () => {
    await clock.sleep(delayMs);
    return undefined;
  };
  await using store = await SqliteStore.open({ path, ids, ...(delayMs > 0 ? { beforeCommit } : {}) });
  const revisions = new Map<string, number>();
  const value = new Uint8Array(load.valueBytes);
  let next = 0;
  const writer = async () => {
    for (let i = next++; i < load.operations; i = next++) {
      const key = keyOf(i, load);
      const request = { compares: [{ key, revision: revisions.get(key) ?? 0 }], puts: [{ key, value }], deletes: [] };
      const { staged, done } = store.txn(request);
      if (staged !== undefined) revisions.set(key, staged);
      const result = await done;
      if (!result.ok) throw new Error(`the compare on ${key} failed`);
    }
  };
  const start = clock.monotonic();
  await Promise.all(Array.from({ length: load.writers }, writer));
  return (load.operations * 1000) / (clock.monotonic() - start);
}

/** The control: the same rows straight into SQLite, `writers` a commit, in this thread. */
export function rawSqliteRate(load: StoreLoad, clock: Clock): number {
  using database = new DatabaseSync(load.path);
  database.exec(`PRAGMA page_size = 16384; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
    CREATE TABLE log (rev INTEGER PRIMARY KEY, key TEXT, prev INTEGER, value BLOB);
    CREATE TABLE cur (key TEXT PRIMARY KEY, rev INTEGER) WITHOUT ROWID`);
  const read = database.prepare('SELECT rev FROM cur WHERE key = ?');
  const append = database.prepare('INSERT INTO log VALUES (?, ?, ?, ?)');
  const point = database.prepare('INSERT INTO cur VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET rev = excluded.rev');
  const value = new Uint8Array(load.valueBytes);
  const start = clock.monotonic();
  for (let i = 0; i < load.operations; ) {
    database.exec('BEGIN IMMEDIATE');
    for (const end = Math.min(i + load.writers, load.operations); i < end; i++) {
      const key = keyOf(i, load);
      append.run(i + 1, key, read.get(key)?.rev ?? 0, value);
      point.run(key, i + 1);
    }
    database.exec('COMMIT');
  }
  return (load.operations * 1000) / (clock.monotonic() - start);
}

/** Spreads the writes over the keys without an order. */
function keyOf(i: number, load: StoreLoad): string {
  return `bench/${(i * 7919) % load.keys}`;
}
