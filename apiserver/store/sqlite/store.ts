import type { Ids } from '../../../resources/ambient/ids.ts';
import { LogStore, type LogStoreOptions } from '../log-store.ts';
import type { StoreBirth } from '../store.ts';
import { SqliteEngine } from './engine.ts';

export interface SqliteStoreOptions extends LogStoreOptions {
  /** The store file; made if absent, but its folder is not. SQLite keeps a second file beside it, with `-wal` at the end. */
  readonly path: string;
  readonly ids: Ids;
  /** How a store begins that is made here; by default it is a new one. */
  readonly birth?: StoreBirth;
}

/** The store in one SQLite file, through built-in node:sqlite in a worker thread. */
export class SqliteStore extends LogStore {
  /**
   * Opens or makes the store. StoreError `Busy` when another process has it; `Unreadable` when the file is not ours, newer,
   * damaged, or out of reach: the message names the file and what to do, and the file is left as it was.
   */
  static async open(options: SqliteStoreOptions): Promise<SqliteStore> {
    const birth = options.birth ?? { uid: options.ids.uid(), revision: 0 };
    const engine = await SqliteEngine.open({ path: options.path, birth });
    return new SqliteStore(engine, options);
  }
}
