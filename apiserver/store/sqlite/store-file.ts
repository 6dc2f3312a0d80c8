import { closeSync, openSync, realpathSync, rmSync, statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import type { StoreError } from '../store.ts';
import { integer } from './columns.ts';
import { writeError } from './errors.ts';

/** The store's file as the file system has it, with its -wal. */
export class StoreFile {
  readonly #database: DatabaseSync;
  readonly #path: string;
  readonly #pageBytes: number;

  constructor(database: DatabaseSync, path: string) {
    this.#database = database;
    this.#path = realpathSync(path);
    this.#pageBytes = this.#pragma('page_size');
  }

  /** What the file and its -wal take up, and what of that are pages in use. */
  size(): { readonly bytes: number; readonly usedBytes: number } {
    const pages = this.#pragma('page_count');
    const usedBytes = (pages - this.#pragma('freelist_count')) * this.#pageBytes;
    const walBytes = statSync(`${this.#path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
    return { bytes: pages * this.#pageBytes + walBytes, usedBytes };
  }

  /** What an error in a write means. On a full disk, what the -wal takes up is given back: its pages mostly have their places in the file. */
  writeError(error: unknown): StoreError {
    const failure = writeError(error, () => this.#isReadOnly());
    if (failure.reason === 'NoSpace') this.#makeRoom();
    return failure;
  }

  /** Found out by making a file: one that failed over to read-only still says of its files that they may be written. */
  #isReadOnly(): boolean {
    const probe = `${this.#path}.probe`;
    try {
      closeSync(openSync(probe, 'w', 0o600));
      rmSync(probe, { force: true });
      return false;
    } catch (error) {
      return error instanceof Error && 'code' in error && error.code === 'EROFS';
    }
  }

  #makeRoom(): void {
    try {
      this.#database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    } catch {
      // Not even that fits; the write that found the disk full tells of it.
    }
  }

  #pragma(name: 'page_size' | 'page_count' | 'freelist_count'): number {
    return integer(this.#database.prepare(`PRAGMA ${name}`).get()?.[name]);
  }
}
