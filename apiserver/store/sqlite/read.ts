import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import type { EngineRange, LogRow } from '../engine.ts';
import { blob, integer, text } from './columns.ts';
import { ID } from './schema.ts';

/** Rows and bytes read before other work gets its turn. */
const SLICE = { rows: 500, bytes: 1_000_000 } as const;

/** Where a key's newest change is. */
interface Pointer {
  readonly key: string;
  readonly revision: number;
}

/** Reads at any revision that is not compacted away. */
export class Reader {
  readonly #pointer;
  readonly #newest;
  readonly #row;
  readonly #step;
  readonly #settled;
  readonly #moved;
  readonly #history;

  constructor(database: DatabaseSync) {
    const within = 'key >= ? AND key < ? AND key > ?';
    const at = `id BETWEEN ${ID.first('?1')} AND ${ID.last('?1')} AND key = ?2`;
    this.#pointer = database.prepare('SELECT key, rev FROM cur WHERE key = ?');
    // Most keys are not younger than what is read: those come with their rows. Without its plus sign SQLite would first make an index of all keys.
    this.#newest = database.prepare(
      `SELECT cur.key, cur.rev, cur.created, log.value FROM cur
       LEFT JOIN log ON cur.rev <= ?4 AND log.id BETWEEN ${ID.first('cur.rev')} AND ${ID.last('cur.rev')} AND +log.key = cur.key
       WHERE cur.key >= ?1 AND cur.key < ?2 AND cur.key > ?3 ORDER BY cur.key LIMIT ${SLICE.rows}`,
    );
    this.#row = database.prepare(`SELECT created, value FROM log WHERE ${at}`);
    this.#step = database.prepare(`SELECT prev, created FROM log WHERE ${at}`);
    this.#settled = database.prepare(`SELECT count(*) AS count FROM cur WHERE ${within} AND rev <= ? AND created > 0`);
    this.#moved = database.prepare(`SELECT key, rev FROM cur WHERE ${within} AND rev > ?`);
    this.#history = database.prepare(
      `SELECT id >> 7 AS rev, key, created, value FROM log
       WHERE id > ${ID.last('?1')} AND id <= ${ID.last('?2')} ORDER BY id`,
    );
  }

  get(key: string, revision: number): LogRow | undefined {
    const pointer = this.#pointer.get(key);
    return pointer && this.#live({ key, revision: integer(pointer.rev) }, revision);
  }

  /** Yields slices of rows, empty ones too, and returns how many keys are beyond the limit. */
  *range({ prefix, after, limit, revision }: EngineRange): Generator<LogRow[], number> {
    // Keys are printable ASCII, so everything with this prefix sorts below it.
    const end = `${prefix}\x7f`;
    let last = after;
    let left = limit;
    while (left > 0) {
      const slice = this.#slice(this.#newest.iterate(prefix, end, last, revision), revision, left);
      if (slice.last === '') return 0;
      last = slice.last;
      left -= slice.rows.length;
      yield slice.rows;
    }
    return yield* this.#count(prefix, end, last, revision);
  }

  /** Whole revisions, as many as fit a slice. */
  history(after: number, upTo: number): LogRow[] {
    const rows: LogRow[] = [];
    let bytes = 0;
    for (const found of this.#history.iterate(after, upTo)) {
      const row = toRow(text(found.key), integer(found.rev), found);
      const full = rows.length >= SLICE.rows || bytes >= SLICE.bytes;
      if (full && row.revision !== rows.at(-1)?.revision) break;
      rows.push(row);
      bytes += row.value?.byteLength ?? 0;
    }
    return rows;
  }

  /** The rows of some of the keys, and the last key looked at; '' for none. */
  #slice(newest: Iterable<Found>, revision: number, limit: number): { rows: LogRow[]; last: string } {
    const rows: LogRow[] = [];
    let bytes = 0;
    let last = '';
    for (const found of newest) {
      last = text(found.key);
      const row = this.#rowAt(last, found, revision);
      if (row === undefined) continue;
      rows.push(row);
      bytes += row.value?.byteLength ?? 0;
      if (rows.length >= limit || bytes >= SLICE.bytes) break;
    }
    return { rows, last };
  }

  #rowAt(key: string, found: Found, revision: number): LogRow | undefined {
    const newest = integer(found.rev);
    if (newest > revision) return this.#live({ key, revision: newest }, revision);
    return integer(found.created) > 0 ? toRow(key, newest, found) : undefined;
  }

  /** Live keys at `revision` after `last`. Both questions are asked in one turn; the log they lead to never changes. */
  *#count(prefix: string, end: string, last: string, revision: number): Generator<LogRow[], number> {
    let count = integer(this.#settled.get(prefix, end, last, revision)?.count);
    const moved = this.#moved.all(prefix, end, last, revision).map(toPointer);
    for (const [i, pointer] of moved.entries()) {
      if (this.#revisionAt(pointer, revision) > 0) count += 1;
      if (i % SLICE.rows === SLICE.rows - 1) yield [];
    }
    return count;
  }

  #live(pointer: Pointer, revision: number): LogRow | undefined {
    const at = this.#revisionAt(pointer, revision);
    const found = at > 0 ? this.#row.get(at, pointer.key) : undefined;
    return found && toRow(pointer.key, at, found);
  }

  /** The key's modRevision as it was at `revision`; 0 if it was absent. */
  #revisionAt({ key, revision: newest }: Pointer, revision: number): number {
    let at = newest;
    for (;;) {
      const step = at > 0 ? this.#step.get(at, key) : undefined;
      if (step === undefined) return 0;
      if (at <= revision) return integer(step.created) > 0 ? at : 0;
      at = integer(step.prev);
    }
  }
}

type Found = Record<string, SQLOutputValue>;

function toPointer(found: Found): Pointer {
  return { key: text(found.key), revision: integer(found.rev) };
}

function toRow(key: string, revision: number, found: Found): LogRow {
  return {
    revision,
    key,
    createRevision: integer(found.created),
    value: blob(found.value),
  };
}
