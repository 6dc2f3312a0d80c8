import type { DatabaseSync } from 'node:sqlite';
import { integer, text } from './columns.ts';
import { ID } from './schema.ts';

/** Log rows looked at, and pages given back, before other work gets its turn: a few milliseconds. */
const SLICE = { rows: 200, pages: 32 } as const;
/** The part of the file that may stay free for the next writes; what is beyond goes back to the file system. */
const FREE_SHARE = 1 / 2;

/**
 * Forgets history. Every log row is looked at once in its life: when the compacted revision passes it, the row it replaced goes,
 * and it goes itself if it is a deletion. Progress is stored with each slice, so a killed compaction goes on where it was.
 */
export class Compaction {
  readonly #database: DatabaseSync;
  readonly #next;
  readonly #forgetOld;
  readonly #forgetGone;
  readonly #forgetPointer;
  readonly #swept;
  readonly #raise;
  #compacted: number;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#next = database.prepare(
      `SELECT id >> 7 AS rev, id & 127 AS place, key, prev, created FROM log
       WHERE id > (SELECT swept FROM meta) AND id <= ${ID.last('?')} ORDER BY id LIMIT ${SLICE.rows}`,
    );
    this.#forgetOld = database.prepare(
      `DELETE FROM log WHERE id BETWEEN ${ID.first('?1')} AND ${ID.last('?1')} AND key = ?2`,
    );
    this.#forgetGone = database.prepare('DELETE FROM log WHERE id = (? << 7 | ?)');
    this.#forgetPointer = database.prepare('DELETE FROM cur WHERE key = ? AND rev = ?');
    this.#swept = database.prepare('UPDATE meta SET swept = (? << 7 | ?)');
    this.#raise = database.prepare('UPDATE meta SET compacted = ?');
    this.#compacted = integer(database.prepare('SELECT compacted FROM meta').get()?.compacted);
  }

  /** The oldest readable revision. */
  get compacted(): number {
    return this.#compacted;
  }

  /** Refuses reads below `revision` from here on, across restarts too. */
  raise(revision: number): void {
    if (revision <= this.#compacted) return;
    this.#raise.run(revision);
    this.#compacted = revision;
  }

  /** Deletes what `compacted` allows, a slice a step. No reader below it may be under way. */
  *sweep(): Generator<undefined, void> {
    while (this.#sweepSlice()) yield;
    while (this.#giveBackSlice()) yield;
  }

  #sweepSlice(): boolean {
    const rows = this.#next.all(this.#compacted);
    const last = rows.at(-1);
    if (last === undefined) return false;
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      for (const row of rows) {
        const key = text(row.key);
        const prev = integer(row.prev);
        if (prev > 0) this.#forgetOld.run(prev, key);
        if (integer(row.created) > 0) continue;
        this.#forgetGone.run(integer(row.rev), integer(row.place));
        this.#forgetPointer.run(key, integer(row.rev));
      }
      this.#swept.run(integer(last.rev), integer(last.place));
      this.#database.exec('COMMIT');
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      throw error;
    }
    return true;
  }

  #giveBackSlice(): boolean {
    const free = integer(this.#database.prepare('PRAGMA freelist_count').get()?.freelist_count);
    const pages = integer(this.#database.prepare('PRAGMA page_count').get()?.page_count);
    if (free <= Math.max(SLICE.pages, pages * FREE_SHARE)) return false;
    this.#database.exec(`PRAGMA incremental_vacuum(${SLICE.pages})`);
    return true;
  }
}
