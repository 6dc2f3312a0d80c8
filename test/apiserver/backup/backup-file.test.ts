import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { readBackupFile, writeBackupFile } from '../../../apiserver/backup/backup-file.ts';
import type { BackupFile, BackupHeader } from '../../../apiserver/backup/backup-format.ts';
import { writeBackup } from '../../../apiserver/backup/write-backup.ts';
import type { KeyValue } from '../../../apiserver/store/copy/fill-store.ts';
import { systemClock } from '../../../resources/ambient/system-clock.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';
import { bytes } from '../store/store-maker.ts';

const WRITER = { tag: '1-a-b', isGone: async () => false };
const { signal } = new AbortController();
const FILES: readonly BackupFile[] = [
  { path: 'ca.key', mode: 0o600, data: bytes('a key') },
  { path: 'old/ca.crt', mode: 0o644, data: new Uint8Array([0, 255, 10]) },
];
const KEYS: readonly KeyValue[] = Array.from({ length: 300 }, (_, i) => ({
  key: `objects/x/${String(i).padStart(4, '0')}`,
  value: i % 7 === 0 ? new Uint8Array([i, 200, 10, 0]) : bytes(`{"n":${i},"text":"ä\n"}`),
}));

function headerOf(files: readonly BackupFile[], keys: readonly KeyValue[]): BackupHeader {
  return {
    coppiceBackup: 1,
    schema: 1,
    store: { uid: 'u', revision: 41 },
    takenAt: '2026-11-30T12:00:00.000Z',
    product: '0.1.0',
    files: files.length,
    keys: keys.length,
  };
}

async function* inPages(keys: readonly KeyValue[]): AsyncGenerator<readonly KeyValue[]> {
  for (let i = 0; i < keys.length; i += 50) yield keys.slice(i, i + 50);
}

describe('the file of a backup', function () {
  this.timeout(20_000);
  let folder: string;
  let path: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'coppice-backup-'));
    path = join(folder, 'b.backup');
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const write = (files = FILES, keys = KEYS, header: object = {}) =>
    writeBackupFile(path, writeBackup({ ...headerOf(files, keys), ...header }, files, inPages(keys)), {
      force: true,
      ids: systemIds,
      clock: systemClock,
      writer: WRITER,
      signal,
    });

  async function read() {
    const files: BackupFile[] = [];
    const keys: KeyValue[] = [];
    let header: BackupHeader | undefined;
    for await (const record of readBackupFile(path, signal)) {
      if (record.kind === 'header') header = record.header;
      else if (record.kind === 'file') files.push(record.file);
      else keys.push(...record.entries);
    }
    return { header, files, keys };
  }

  /** What reading says of the file. */
  async function refusal(): Promise<string> {
    try {
      await read();
    } catch (error) {
      assert.ok(error instanceof Error && error.name === 'BackupFileError', String(error));
      assert.ok(error.message.startsWith(`${path}: `), error.message);
      return error.message.slice(path.length + 2);
    }
    return assert.fail('it was read');
  }

  const plain = (files = FILES, keys = KEYS) => ({
    files: files.map((file) => ({ ...file, data: Buffer.from(file.data).toString('hex') })),
    keys: keys.map(({ key, value }) => `${key}=${Buffer.from(value).toString('hex')}`),
  });

  it('gives back what was written, whatever the bytes', async () => {
    const value = fc.oneof(fc.uint8Array({ maxLength: 100 }), fc.string({ maxLength: 50, unit: 'binary' }).map(bytes));
    const keys = fc
      .dictionary(fc.stringMatching(/^[\x20-\x7e]{1,20}$/), value, { maxKeys: 300, noNullPrototype: true })
      .map((map) =>
        Object.entries(map)
          .map(([key, value]) => ({ key, value }))
          .sort((a, b) => (a.key < b.key ? -1 : 1)),
      );
    await fc.assert(
      fc.asyncProperty(keys, async (entries) => {
        await write(FILES, entries);
        const found = await read();
        assert.deepEqual(found.header, headerOf(FILES, entries));
        assert.deepEqual(plain(found.files, found.keys), plain(FILES, entries));
      }),
      { numRuns: 40 },
    );
  });

  it('is its owner’s, and nothing is left beside it', async () => {
    const size = await write();
    const { mode, size: found } = await stat(path);
    assert.equal(mode & 0o777, 0o600);
    assert.equal(found, size);
    assert.deepEqual(await readdir(folder), ['b.backup']);
  });

  it('never takes the place of another one, unless told to', async () => {
    await writeFile(path, 'older');
    const lines = writeBackup(headerOf([], []), [], inPages([]));
    await assert.rejects(
      writeBackupFile(path, lines, { force: false, ids: systemIds, clock: systemClock, writer: WRITER, signal }),
      { code: 'EEXIST' },
    );
    assert.equal(await readFile(path, 'utf8'), 'older');
    assert.deepEqual(await readdir(folder), ['b.backup']);
  });

  it('is whole when two write it at once: one of the two', async () => {
    const began = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    const slow = async function* () {
      yield* inPages(KEYS.slice(0, 150));
      began.resolve();
      await go.promise;
      yield* inPages(KEYS.slice(150));
    };
    const first = writeBackupFile(path, writeBackup(headerOf(FILES, KEYS), FILES, slow()), {
      force: true,
      ids: systemIds,
      clock: systemClock,
      writer: WRITER,
      signal,
    });
    await began.promise;
    await write(FILES, KEYS.slice(0, 10));
    assert.equal((await read()).keys.length, 10);
    go.resolve();
    await first;
    assert.equal((await read()).keys.length, KEYS.length);
    assert.deepEqual(await readdir(folder), ['b.backup']);
  });

  it('is not there when what it is made of breaks off', async () => {
    const broken = async function* () {
      yield* inPages(KEYS);
      throw new Error('the store broke');
    };
    const lines = writeBackup(headerOf(FILES, KEYS), FILES, broken());
    await assert.rejects(
      writeBackupFile(path, lines, { force: false, ids: systemIds, clock: systemClock, writer: WRITER, signal }),
      /the store broke/,
    );
    assert.deepEqual(await readdir(folder), []);
  });

  it('is refused when it is cut anywhere, and it is said where', async () => {
    await write();
    const whole = await readFile(path);
    for (let end = 0; end < whole.length; end += 1 + Math.floor(whole.length / 150)) {
      await writeFile(path, whole.subarray(0, end));
      const said = await refusal();
      assert.match(
        said,
        end === 0 ? /is (empty|cut off)|no backup/ : new RegExp(`cut off at byte ${end}$`),
        `at ${end}`,
      );
    }
  });

  it('is refused when any byte of it is another one', async () => {
    await write();
    const whole = await readFile(path);
    // The gzip header has a time and a system in it that mean nothing.
    for (let at = 10; at < whole.length; at += 1 + Math.floor(whole.length / 200)) {
      const changed = Buffer.from(whole);
      changed[at] = (changed[at] ?? 0) ^ 0x24;
      await writeFile(path, changed);
      assert.match(await refusal(), /(damaged at or before byte|byte) \d+|cut off/, `at ${at}`);
    }
  });

  it('is refused when anything follows it', async () => {
    await write();
    const whole = await readFile(path);
    for (const more of [Buffer.from('x'), Buffer.alloc(600), whole, gzipSync('{}\n')]) {
      await writeFile(path, Buffer.concat([whole, more]));
      assert.match(await refusal(), /goes on after its end|cut off/);
    }
  });

  for (const [what, change, words] of [
    ['its header', (lines) => lines.slice(1), /^it is no backup of Coppice \(line 1, header; byte/],
    ['a file', (lines) => lines.toSpliced(1, 1), /^there are 1 files, and should be 2 \(line 303, end/],
    ['a key', (lines) => lines.toSpliced(100, 1), /^there are 299 keys, and should be 300 \(line 303, end/],
    ['its end', (lines) => lines.slice(0, -1), /^it is cut off: its end is missing \(line 303, keys/],
  ] as readonly [string, (lines: string[]) => string[], RegExp][]) {
    it(`is refused without ${what}, and it is said where`, async () => {
      await write();
      const lines = gunzipSync(await readFile(path))
        .toString()
        .trimEnd()
        .split('\n');
      assert.equal(lines.length, 304);
      await writeFile(path, gzipSync(`${change(lines).join('\n')}\n`));
      assert.match(await refusal(), words);
    });
  }

  for (const [what, change, words] of [
    ['a changed value', (text) => text.replace('"n\\":5,', '"n\\":6,'), /checksum does not fit.*line 304, end/],
    [
      'a key twice',
      (text) => text.replace(/(\n\{"k".*)\n/, '$1$1\n'),
      /key objects\/x\/0000 is out of order \(line 5, keys/,
    ],
    ['a line of nonsense', (text) => text.replace(/\n\{"k"/, '\nnonsense\n{"k"'), /line is no JSON \(line 4, pki/],
    [
      'a path that leads out',
      (text) => text.replace('old/ca.crt', 'old/../../x'),
      /leads out of its folder \(line 3, pki/,
    ],
    ['no JSON at all', () => 'hello\n', /^it is no backup of Coppice \(line 1, header/],
  ] as readonly [string, (text: string) => string, RegExp][]) {
    it(`is refused with ${what}`, async () => {
      await write();
      const text = gunzipSync(await readFile(path)).toString();
      const changed = change(text);
      assert.notEqual(changed, text);
      await writeFile(path, gzipSync(changed));
      assert.match(await refusal(), words);
    });
  }

  it('is refused when it is no gzip', async () => {
    for (const content of ['hello, I am a text file', Buffer.alloc(5000), 'SQLite format 3\0']) {
      await writeFile(path, content);
      assert.match(await refusal(), /^it is no backup of Coppice/);
    }
  });

  it('is refused when its header holds what no server wrote', async () => {
    for (const header of [
      { store: { uid: 'u\u001b[2J', revision: 41 } },
      { store: { uid: 'u', revision: Number.MAX_SAFE_INTEGER } },
      { takenAt: 'then\n' },
      { product: '' },
      { schema: 0.5 },
      { coppiceBackup: 0 },
    ]) {
      await write(FILES, KEYS, header);
      assert.match(await refusal(), /^the header holds what no server wrote \(line 1, header/, JSON.stringify(header));
    }
  });

  it('is refused when two files of it are at one place', async () => {
    const [key] = FILES;
    assert.ok(key !== undefined);
    for (const path of [key.path, `${key.path}/below`]) {
      await write([key, { ...key, path }]);
      assert.match(await refusal(), /^the file name ca\.key(\/below)? is there already \(line 3, pki/);
    }
  });

  it('is refused when a newer version made it', async () => {
    await write(FILES, KEYS, { coppiceBackup: 2, product: '9.9.9' });
    assert.match(await refusal(), /newer version \(Coppice 9\.9\.9\) made it: format 2, and this one reads 1 \(line 1/);
    await write(FILES, KEYS, { schema: 7, product: '9.9.9' });
    assert.match(await refusal(), /newer version \(Coppice 9\.9\.9\) made it: data of schema 7, and this one knows 1/);
  });
});
