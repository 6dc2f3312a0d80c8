import type { DatabaseSync } from 'node:sqlite';
import type { CommitFault, LogRow } from '../engine.ts';
import { StoreError } from '../store.ts';
import type { StoreFile } from './store-file.ts';

const PLACES = 128;

/** Makes rows durable, a whole group in one SQLite transaction. */
export function committer(
  database: DatabaseSync,
  file: StoreFile,
): (rows: readonly LogRow[], fault: CommitFault | undefined) => void {
  const append = database.prepare(
    'INSERT INTO log VALUES (?1 << 7 | ?2, ?3, coalesce((SELECT rev FROM cur WHERE key = ?3), 0), ?4, ?5)',
  );
  const point = database.prepare(
    'INSERT INTO cur VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE SET rev = excluded.rev, created = excluded.created',
  );
  return (rows, fault) => {
    try {
      database.exec('BEGIN IMMEDIATE');
      let revision = 0;
      let place = 0;
      for (const row of rows) {
        place = row.revision === revision ? place + 1 : 0;
        revision = row.revision;
        if (place >= PLACES) throw new RangeError(`revision ${revision} has more than ${PLACES} changes`);
        append.run(revision, place, row.key, row.createRevision, row.value ?? null);
        point.run(row.key, revision, row.createRevision);
      }
      failBefore(fault);
      database.exec('COMMIT');
      failAfter(fault);
    } catch (error) {
      // A full disk may have made SQLite roll back by itself.
      if (database.isTransaction) database.exec('ROLLBACK');
      throw file.writeError(error);
    }
  };
}

function failBefore(fault: CommitFault | undefined): void {
  if (fault === 'NoSpace') throw new StoreError('NoSpace', 'a test filled the disk');
  if (fault === 'ReadOnly') throw new StoreError('Unavailable', 'a test made the disk read-only');
  if (fault === 'IoErrorBeforeCommit') throw new StoreError('UnknownOutcome', 'a test failed the commit');
  if (fault === 'Death') process.exit(1);
}

function failAfter(fault: CommitFault | undefined): void {
  if (fault === 'IoErrorAfterCommit')
    throw new StoreError('UnknownOutcome', 'a test failed the commit once it was made');
}
