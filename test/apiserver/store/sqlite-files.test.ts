import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, copyFile, mkdir, open, readdir, readFile, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { SqliteStore } from '../../../apiserver/store/sqlite/store.ts';
import type { StoreErrorReason } from '../../../apiserver/store/store.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';
import { StoreHome } from './store-home.ts';
import { entryLine, rejectsWith, write } from './store-maker.ts';

const PAGE = 16_384;
const OPEN_ONCE = fileURLToPath(new URL('./open-once.ts', import.meta.url));

describe('the sqlite store file', () => {
  it('is made whole, for its owner only, with nothing beside it once closed', async () => {
    await using home = await StoreHome.make();
    const store = await home.open();
    assert.equal(Number((await stat(home.path)).mode) & 0o777, 0o600);
    await write(store, { put: { a: '1' } });
    await home.close();
    assert.deepEqual(await readdir(home.folder), ['store.db']);
  });

  it('gives space back after compaction', async () => {
    await using home = await StoreHome.make();
    const store = await home.open();
    const value = 'x'.repeat(20_000);
    for (let i = 0; i < 20; i++) {
      await Promise.all(Array.from({ length: 20 }, (_, k) => write(store, { put: { [`k${k}`]: `${i}${value}` } })));
    }
    await store.compact(store.revision());
    await home.close();
    assert.ok((await stat(home.path)).size < 2_000_000);
    assert.equal((await (await home.open()).range({ prefix: 'k' })).entries.length, 20);
  });

  it('forgets deleted keys after compaction', async () => {
    await using home = await StoreHome.make();
    const store = await home.open();
    const keys = Array.from({ length: 2000 }, (_, i) => `${i}/${'long'.repeat(300)}`);
    for (let at = 0; at < keys.length; at += 100) {
      const some = keys.slice(at, at + 100);
      await write(store, { put: Object.fromEntries(some.map((key) => [key, ''])) });
      await write(store, { delete: some });
    }
    await store.compact(store.revision());
    await home.close();
    assert.ok((await stat(home.path)).size < 2_000_000);
  });

  describe('is refused and left as it is when it', () => {
    it('is not a SQLite file', () =>
      refuses(/is not a Coppice store/, ({ path }) => writeFile(path, 'hello '.repeat(999))));

    it('is empty', () => refuses(/is empty/, ({ path }) => writeFile(path, '')));

    it('is empty beside a -wal', () =>
      refuses(/is empty/, async ({ path }) => {
        await crashed(path);
        await truncate(path, 0);
      }));

    it('is missing beside a -wal', () =>
      refuses(/is missing but .*-wal is there/, async ({ path, folder }) => {
        await crashed(join(folder, 'other'));
        await copyFile(join(folder, 'other-wal'), `${path}-wal`);
      }));

    it("is another program's database", () =>
      refuses(/another program's/, async ({ path }) => {
        using database = new DatabaseSync(path);
        database.exec('CREATE TABLE notes (text); INSERT INTO notes VALUES (1)');
      }));

    it("is another program's database with a -wal", () =>
      refuses(/another program's/, async ({ path, folder }) => {
        using database = new DatabaseSync(join(folder, 'other'));
        database.exec('PRAGMA journal_mode = WAL; CREATE TABLE notes (text); INSERT INTO notes VALUES (1)');
        await copyFile(join(folder, 'other'), path);
        await copyFile(join(folder, 'other-wal'), `${path}-wal`);
      }));

    it('has a newer schema', () =>
      refuses(/has schema 2; this version reads up to 1/, async ({ path }) => {
        await closed(path);
        using database = new DatabaseSync(path);
        database.exec('PRAGMA user_version = 2');
      }));

    it('has a newer schema that only its -wal knows of', () =>
      refuses(/has schema 2; this version reads up to 1/, async ({ path, folder }) => {
        const other = join(folder, 'other');
        await closed(other);
        using database = new DatabaseSync(other);
        database.exec('PRAGMA user_version = 2');
        await copyFile(other, path);
        await copyFile(`${other}-wal`, `${path}-wal`);
      }));

    it('has a damaged page', () =>
      refuses(/is damaged/, async ({ path }) => {
        await closed(path);
        await damage(path, (await stat(path)).size - PAGE);
      }));

    it('has a damaged page beside a good -wal', () =>
      refuses(/is damaged/, async ({ path }) => {
        await crashed(path);
        await damage(path, PAGE);
      }));

    it('is cut short', () =>
      refuses(/is damaged/, async ({ path }) => {
        await closed(path);
        await truncate(path, 3 * PAGE);
      }));

    it('is a folder', () => refuses(/is not a file/, async ({ path }) => void (await mkdir(path))));

    it('is in a folder that does not exist', async () => {
      await using home = await StoreHome.make();
      const lost = { path: join(home.folder, 'no', 'store.db') };
      assert.match((await refusal(lost.path)).message, /the folder .*\/no for the store does not exist/);
    });

    it('may not be read', () => {
      const locked = async ({ folder, path }: StoreHome) => {
        await closed(path);
        await chmod(path, 0o400);
        await chmod(folder, 0o755);
      };
      // Root may read everything, so somebody else tries in its place.
      const root = process.getuid?.() === 0;
      return refuses(/no permission to read and write/, locked, root ? refusalOfNobody : refusal);
    });
  });

  it('takes up what a crash left in the -wal', async () => {
    await using home = await StoreHome.make();
    await crashed(home.path);
    const store = await home.open();
    assert.equal(store.revision(), 2);
    assert.deepEqual((await store.range({ prefix: '' })).entries.map(entryLine), ['a=2@2/1']);
    await home.close();
    assert.deepEqual(
      (await readdir(home.folder)).filter((name) => name !== 'store.db'),
      [],
    );
  });

  it('is taken up when the -wal was being moved into it', async () => {
    await using home = await StoreHome.make();
    const other = await StoreHome.make();
    const store = await other.open();
    await write(store, { put: { a: 'x'.repeat(100_000), b: '1' } });
    await copyFile(other.path, home.path);
    await copyFile(`${other.path}-wal`, `${home.path}-wal`);
    await other.close();
    // The first page says already how long the file will be.
    await using file = await open(home.path, 'r+');
    await file.write((await readFile(other.path)).subarray(0, PAGE), 0, PAGE, 0);
    await other[Symbol.asyncDispose]();
    const { entries } = await (await home.open()).range({ prefix: '' });
    assert.deepEqual(
      entries.map(({ key, value }) => [key, value.byteLength]),
      [
        ['a', 100_000],
        ['b', 1],
      ],
    );
  });

  it('is held against other processes, also after a second attempt in this one', async () => {
    await using home = await StoreHome.make();
    const store = await home.open();
    assert.equal(await openElsewhere(home.path), 'Busy');
    await write(store, { put: { a: '1' } });
    await rejectsWith('Busy', home.open());
    assert.equal(await openElsewhere(home.path), 'Busy');
    await write(store, { put: { a: '2' } });
    await home.close();
    assert.equal(await openElsewhere(home.path), `open ${store.uid}`);
  });

  it('is made once when two processes make it together', async () => {
    await using home = await StoreHome.make();
    const outcomes = await Promise.all([openElsewhere(home.path), openElsewhere(home.path)]);
    const store = await home.open();
    for (const outcome of outcomes) assert.ok(['Busy', `open ${store.uid}`].includes(outcome), outcome);
  });
});

async function openElsewhere(path: string): Promise<string> {
  return (await promisify(execFile)(process.execPath, [OPEN_ONCE, path])).stdout;
}

/** A store that was closed properly. */
async function closed(path: string): Promise<void> {
  await using home = await StoreHome.make();
  const store = await home.open();
  await write(store, { put: { a: 'x'.repeat(100_000), b: '1' } });
  await home.close();
  await copyFile(home.path, path);
}

/** A store as a kill leaves it: the last writes are in the -wal only. */
async function crashed(path: string): Promise<void> {
  await using home = await StoreHome.make();
  const store = await home.open();
  await write(store, { put: { a: '1', big: 'x'.repeat(100_000) } });
  await home.close();
  const again = await home.open();
  await write(again, { put: { a: '2' }, delete: ['big'] });
  await copyFile(home.path, path);
  await copyFile(`${home.path}-wal`, `${path}-wal`);
  assert.equal(store.uid, again.uid);
}

/** Overwrites everything from there on. */
async function damage(path: string, from: number): Promise<void> {
  await using file = await open(path, 'r+');
  const { size } = await file.stat();
  await file.write(new Uint8Array(size - from).fill(0xee), 0, size - from, from);
}

async function refuses(
  message: RegExp,
  prepare: (home: StoreHome) => Promise<void>,
  refusalOf: (path: string) => Promise<{ readonly message: string }> = refusal,
): Promise<void> {
  await using home = await StoreHome.make();
  await prepare(home);
  const before = await contents(home.folder);
  const error = await refusalOf(home.path);
  assert.match(error.message, message);
  assert.ok(error.message.includes(home.path));
  assert.ok(!error.message.includes('\n'));
  assert.deepEqual(await contents(home.folder), before);
}

async function refusal(path: string, reason: StoreErrorReason = 'Unreadable'): Promise<Error> {
  return rejectsWith(reason, SqliteStore.open({ path, ids: systemIds }));
}

/** What a process that is not root is told. */
async function refusalOfNobody(path: string): Promise<{ readonly message: string }> {
  const script = fileURLToPath(new URL('./open-as-nobody.ts', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [script, path]);
  const { reason, message } = JSON.parse(stdout);
  assert.equal(reason, 'Unreadable', message);
  return { message };
}

/** Every file with its bytes. SQLite's -shm is scratch space it may make to read a -wal. */
async function contents(folder: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.name.endsWith('-shm')) continue;
    found[entry.name] = entry.isFile() ? (await readFile(join(folder, entry.name))).toString('base64') : 'folder';
  }
  return found;
}
