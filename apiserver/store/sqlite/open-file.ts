import { accessSync, chmodSync, constants, linkSync, realpathSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { type StoreBirth, StoreError } from '../store.ts';
import { syncPath } from '../sync-path.ts';
import { integer, text } from './columns.ts';
import { damagedError, isCorrupt, openError } from './errors.ts';
import { APPLICATION_ID, CREATE, CREATE_ORIGIN, SCHEMA } from './schema.ts';

/** Pages the -wal grows to, 8 MiB, before they are moved into the file: half of SQLite's default, so that no commit waits long for that. */
const WAL_PAGES = 512;
/** Above this, checking every page would delay the start too much. */
const FULL_CHECK_BYTES = 64 * 1024 * 1024;

/**
 * Opens the store file at `path`, or makes it, and holds it against every other process for as long as the connection lives.
 * A file that is refused is left byte for byte as it was.
 *
 * The lock is SQLite's own exclusive lock (`locking_mode=EXCLUSIVE`): the system drops it when the process dies, whatever way,
 * and it needs no second file. It is a POSIX lock, which a process loses when it closes *any* descriptor of that file: nothing in
 * this process may open the store file but SQLite, which knows.
 */
export function openFile(path: string, birth: StoreBirth): DatabaseSync {
  try {
    const file = existing(path) ?? create(path, birth);
    inspect(file);
    return lock(file);
  } catch (error) {
    throw openError(error, path);
  }
}

/** The file's real path, beside which its -wal lies; undefined if there is none and one may be made. */
function existing(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) {
    if (walBytes(path) === 0) return undefined;
    throw new StoreError(
      'Unreadable',
      `${path} is missing but ${path}-wal is there; bring the file back or move the -wal away`,
    );
  }
  if (!found.isFile()) throw new StoreError('Unreadable', `${path} is not a file; use another path`);
  accessSync(path, constants.R_OK | constants.W_OK);
  // Stores appear whole (see create), so an empty one was emptied by someone: starting afresh would hide the loss.
  if (found.size === 0) {
    throw new StoreError('Unreadable', `${path} is empty, not a store; restore it, or remove it to start a new one`);
  }
  return realpathSync(path);
}

/** Makes the file under another name and links it into place whole, so a kill leaves a store or none, and never replaces one. */
function create(path: string, birth: StoreBirth): string {
  const folder = dirname(path);
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
    throw new StoreError('Unreadable', `the folder ${folder} for the store does not exist; make it first`);
  }
  accessSync(folder, constants.W_OK | constants.X_OK);
  const draft = `${path}.${birth.uid}.new`;
  try {
    writeDraft(draft, birth);
    linkSync(draft, path);
  } catch (error) {
    // Another process made it first: whoever gets the lock has it.
    if (!statSync(path, { throwIfNoEntry: false })) throw error;
  } finally {
    rmSync(draft, { force: true });
    rmSync(`${draft}-wal`, { force: true });
    rmSync(`${draft}-shm`, { force: true });
  }
  syncPath(folder);
  return realpathSync(path);
}

function writeDraft(draft: string, { uid, revision, origin }: StoreBirth): void {
  using database = new DatabaseSync(draft);
  chmodSync(draft, 0o600);
  database.exec(CREATE);
  database.prepare('INSERT INTO meta VALUES (?, ?, 0)').run(uid, revision);
  if (origin !== undefined) {
    database.exec(CREATE_ORIGIN);
    database.prepare('INSERT INTO origin VALUES (?, ?, ?)').run(origin.uid, origin.revision, origin.takenAt);
  }
  database.exec('COMMIT');
}

/** Looks, through connections that cannot write, whether the file is ours, not newer, and whole. */
function inspect(file: string): void {
  const unfinished = walBytes(file) > 0;
  try {
    // Without a look at the -wal, so that not even a -shm appears beside a stranger's database.
    using header = new DatabaseSync(immutable(file), { readOnly: true });
    checkHeader(header, file);
  } catch (error) {
    // A kill, or a full disk, while the -wal is being moved into the file leaves it readable only together with the -wal.
    if (!unfinished || !isCorrupt(error)) throw error;
  }
  // A read-only connection never moves the -wal into the file, not when closed either.
  using content = new DatabaseSync(unfinished ? file : immutable(file), { readOnly: true });
  checkHeader(content, file);
  if (statSync(file).size <= FULL_CHECK_BYTES) {
    const [finding] = content.prepare('PRAGMA quick_check(1)').all();
    if (finding?.quick_check !== 'ok') throw damagedError(file, String(finding?.quick_check));
  }
  const meta = content.prepare('SELECT uid, compacted, swept FROM meta').all();
  if (meta.length !== 1 || text(meta[0]?.uid) === '') throw damagedError(file, 'it has no identity');
}

function checkHeader(database: DatabaseSync, file: string): void {
  const application = integer(database.prepare('PRAGMA application_id').get()?.application_id);
  if (application !== APPLICATION_ID) {
    throw new StoreError('Unreadable', `${file} is another program's SQLite database; use another path`);
  }
  const schema = integer(database.prepare('PRAGMA user_version').get()?.user_version);
  if (schema > SCHEMA) {
    const message = `${file} has schema ${schema}; this version reads up to ${SCHEMA}; use the newer version that wrote it`;
    throw new StoreError('Unreadable', message);
  }
}

function lock(file: string): DatabaseSync {
  const database = new DatabaseSync(file);
  try {
    // Before the first read, so that SQLite keeps the -wal's index in its own memory and no -shm is needed.
    database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = FULL; BEGIN IMMEDIATE; COMMIT');
    database.exec(`PRAGMA wal_autocheckpoint = ${WAL_PAGES}`);
    // What inspecting a -wal left; with the lock held nobody else can be using it.
    rmSync(`${file}-shm`, { force: true });
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

function immutable(file: string): URL {
  const url = pathToFileURL(file);
  url.searchParams.set('immutable', '1');
  return url;
}

function walBytes(path: string): number {
  return statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
}
