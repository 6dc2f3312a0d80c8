import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LogStoreOptions } from '../../../apiserver/store/log-store.ts';
import { SqliteStore } from '../../../apiserver/store/sqlite/store.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';

/** A temporary folder with a store file in it; disposing closes every store opened here and removes the folder. */
export class StoreHome implements AsyncDisposable {
  readonly folder: string;
  readonly path: string;
  readonly #opened: SqliteStore[] = [];

  static async make(folder = tmpdir()): Promise<StoreHome> {
    // Every store has a worker, and each would strip the types of its files anew.
    process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), 'coppice-compile-cache');
    return new StoreHome(await mkdtemp(join(folder, 'coppice-store-')));
  }

  private constructor(folder: string) {
    this.folder = folder;
    this.path = join(folder, 'store.db');
  }

  async open(options: LogStoreOptions = {}): Promise<SqliteStore> {
    const store = await SqliteStore.open({ ...options, path: this.path, ids: systemIds });
    this.#opened.push(store);
    return store;
  }

  async close(): Promise<void> {
    for (const store of this.#opened.splice(0)) await store[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
    await rm(this.folder, { recursive: true, force: true });
  }
}
