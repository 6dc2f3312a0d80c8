/** Marks a SQLite file as ours ("Copp"), in the header field SQLite keeps for it. */
export const APPLICATION_ID = 0x436f7070;
/** The number of this schema. A server refuses a file with a higher one. */
export const SCHEMA = 1;

/**
 * `log` has a row for each change. Its id is the revision and the place within the transaction in one integer, so the log is
 * stored in order and needs no index. `prev` is the revision of the key's change before, deletions
 * too: reads at an old revision walk it backwards. `created` is 0 for a deletion.
 *
 * `cur` points from each key to its newest row. A deleted key stays, with `created` 0, until compaction passes the deletion,
 * because reads at older revisions start from here.
 *
 * `meta.compacted` is the oldest readable revision, `meta.swept` the log id up to which compaction has deleted. The last
 * revision is not stored: the newest row has it, and compaction deletes no row above `compacted`.
 *
 * Big pages: rows are about 2 KB and 4 KB pages would waste half the file. auto_vacuum must precede the first table.
 */
export const CREATE = `
PRAGMA page_size = 16384;
PRAGMA auto_vacuum = INCREMENTAL;
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
BEGIN;
PRAGMA application_id = ${APPLICATION_ID};
PRAGMA user_version = ${SCHEMA};
CREATE TABLE meta (uid TEXT NOT NULL, compacted INTEGER NOT NULL, swept INTEGER NOT NULL) STRICT;
CREATE TABLE log (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL,
  prev INTEGER NOT NULL,
  created INTEGER NOT NULL,
  value BLOB
) STRICT;
CREATE TABLE cur (
  key TEXT PRIMARY KEY,
  rev INTEGER NOT NULL,
  created INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`;

/** Only in a store that a backup was restored into; a version that knows nothing of it loses nothing. */
export const CREATE_ORIGIN =
  'CREATE TABLE origin (uid TEXT NOT NULL, revision INTEGER NOT NULL, taken_at TEXT NOT NULL) STRICT';

/** SQL for the log id of a place in a revision; 128 places, as many as a transaction may have operations. */
export const ID = { first: (rev: string) => `(${rev} << 7)`, last: (rev: string) => `(${rev} << 7 | 127)` } as const;
