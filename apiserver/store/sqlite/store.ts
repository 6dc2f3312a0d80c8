import type { Ids } from '../../../resources/ambient/ids.ts';
import { LogStore, type LogStoreOptions } from '../log-store.ts';
import { SqliteEngine } from './engine.ts';

export interface SqliteStoreOptions extends LogStoreOptions {
  /** The store file; made if absent, but its folder is not. SQLite keeps a second file beside it, with `-wal` at the end. */
  readonly path: string;
  readonly ids: Ids;
}

/** The store in one SQLite file, through built-in node:sqlite in a worker thread. */
export class SqliteStore extends LogStore {
  /**
   * Opens or makes the store. StoreError `Busy` when another process has it; `Unreadable` when the file is not ours, newer,
   * damaged, or out of reach: the message names the file and what to do, and the file is left as it was.
   */
  static async open(options: SqliteStoreOptions): Promise<SqliteStore> {
    const engine = await SqliteEngine.open({ path: options.path, uid: options.ids.uid() });
    return new SqliteStore(engine, options);
  }
}
