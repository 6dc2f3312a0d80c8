import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, readlink, stat, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';

import { writeBackup } from '../../../../apiserver/backup/write-backup.ts';
import { Sealer } from '../../../../apiserver/sealing/sealer.ts';
import { sealingKeyId } from '../../../../apiserver/sealing/sealing-key-id.ts';

import { draftWriter } from '../../../../cli/serve/backup/draft-writer.ts';
import { refuseMarked } from '../../../../cli/serve/store-marks.ts';
import { machineProcesses } from '../../../../nodelet/drivers/qemu/machine-processes.ts';
import { systemClock } from '../../../../resources/ambient/system-clock.ts';
import { systemIds } from '../../../../resources/ambient/system-ids.ts';
import { write } from '../../../apiserver/store/store-maker.ts';
import { EtcdServer, findEtcd } from '../../../harness/etcd-server.ts';
import { CliFolder } from '../../../harness/run-cli.ts';
import { testCertificate } from '../../../harness/test-authority.ts';
import { contentOf, coppice, etcdPlace, fill, homePlace } from './store-places.ts';

const KILLS = Number(process.env.COPPICE_KILLS ?? 4);

describe('coppice backup and restore', function () {
  this.timeout(240_000);
  let folder: CliFolder;
  let home: string;
  let fresh: string;
  let file: string;
  beforeEach(async () => {
    folder = await CliFolder.make();
    home = join(folder.path, 'home');
    fresh = join(folder.path, 'fresh');
    file = join(folder.path, 'fleet.backup');
    await fill(homePlace(home), 300);
    await mkdir(join(home, 'pki', 'retired'), { recursive: true, mode: 0o700 });
    await writeFile(join(home, 'pki', 'sealing.key'), 'abc\n', { mode: 0o600 });
    await writeFile(join(home, 'pki', 'retired', 'sealing.key'), 'old\n', { mode: 0o600 });
  });
  afterEach(() => folder[Symbol.asyncDispose]());

  const run = async (...argv: string[]) => {
    const { code, stdout, stderr } = await folder.run(argv);
    assert.equal(code, 0, stderr);
    return stdout + stderr;
  };
  const refused = async (...argv: string[]) => {
    const { code, stderr } = await folder.run(argv);
    assert.equal(code, 1, `${argv.join(' ')} was not refused`);
    return stderr;
  };
  const back = async () => run('backup', file, '--home', home);
  const tree = async (path: string) =>
    (await readdir(path, { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(path.length + 1))
      .sort();

  it('bring all keys and files into another home, as another store far ahead', async () => {
    const content = await contentOf(homePlace(home));
    assert.match(await back(), /^backed up 300 keys at revision 3 of store \S+, from \S+state\.db\nwith 2 files of/);
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    assert.match(await run('backup', '--verify', file), /is whole: 300 keys at revision 3/);
    assert.match(await run('restore', file, '--home', fresh), /^restored 300 keys/);
    assert.deepEqual(await contentOf(homePlace(fresh)), content);
    await using old = await homePlace(home).open();
    await using made = await homePlace(fresh).open();
    assert.notEqual(made.uid, old.uid);
    assert.equal(made.origin?.uid, old.uid);
    assert.equal(made.origin?.revision, old.revision());
    assert.ok(made.compactedRevision() > 1_000_000_000);
    assert.ok((await write(made, { put: { a: 'b' } })) > 1_000_000_000);
    assert.deepEqual(await tree(join(fresh, 'pki')), ['retired/sealing.key', 'sealing.key']);
    assert.equal(await readFile(join(fresh, 'pki', 'retired', 'sealing.key'), 'utf8'), 'old\n');
    assert.equal((await stat(join(fresh, 'pki', 'sealing.key'))).mode & 0o777, 0o600);
  });

  it('bring no token back that is good once, not even from an older backup that has it', async () => {
    const header = { coppiceBackup: 1, schema: 1, store: { uid: 'u', revision: 5 }, takenAt: 'then', product: 'old' };
    const keys = ['a/b', 'enrollment/tokens/ab', 'join/tokens/cd', 'join/z'];
    const pages = async function* () {
      yield keys.map((key) => ({ key, value: Buffer.from('{}') }));
    };
    const lines: Buffer[] = [];
    for await (const line of writeBackup({ ...header, files: 0, keys: keys.length }, [], pages())) lines.push(line);
    await writeFile(file, gzipSync(Buffer.concat(lines)));
    assert.match(await run('restore', file, '--home', fresh), /^restored 2 keys/);
    assert.deepEqual([...(await contentOf(homePlace(fresh))).keys()], ['a/b', 'join/z']);
  });

  it('leave the keys out when told to, and say what that means', async () => {
    assert.match(await run('backup', file, '--home', home, '--no-pki'), /without the pki folder: Secrets/);
    assert.match(await run('restore', file, '--home', fresh), /there are no keys in \S+: put those of the old/);
    assert.equal(existsSync(join(fresh, 'pki')), false);
  });

  it('write no backup over another, nor without keys, nor of nothing', async () => {
    await back();
    const before = await readFile(file);
    assert.match(await refused('backup', file, '--home', home), /is there already\nhint: .*--force/);
    assert.ok((await readFile(file)).equals(before));
    await run('backup', file, '--home', home, '--force');
    const none = join(folder.path, 'none');
    assert.match(await refused('backup', 'x', '--home', none), /there are no keys in .*\nhint: .*--no-pki/);
    assert.match(await refused('backup', 'x', '--home', none, '--no-pki'), /there is no store at/);
    assert.match(await refused('backup', 'nowhere/x', '--home', home), /there is no folder \S+nowhere$/m);
    assert.deepEqual((await readdir(folder.path)).sort(), ['fleet.backup', 'home']);
  });

  it('replace files only: no folder, no link and what it leads to', async () => {
    const kept = join(folder.path, 'kept');
    await writeFile(kept, 'mine');
    await symlink(kept, file);
    await mkdir(join(folder.path, 'sub'));
    for (const name of [file, join(folder.path, 'sub')])
      assert.match(await refused('backup', name, '--home', home, '--force'), /is there already, and is no file/);
    assert.equal(await readFile(kept, 'utf8'), 'mine');
    assert.equal(await readlink(file), kept);
  });

  it('remove what a backup of the same file left that was killed, and nothing that is being written', async () => {
    const processes = machineProcesses(systemClock);
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
    const ended = once(child, 'exit');
    const of = async (pid: number) => (await draftWriter(processes, pid)).tag;
    try {
      assert.ok(child.pid !== undefined);
      const [killed, own] = [await of(child.pid), await of(process.pid)];
      const elsewhere = killed.replace(/-\w+-/, '-00000000-');
      const draft = (tag: string) => folder.write(`fleet.backup.${tag}0123abcd.unfinished`, 'x');
      const dayOld = await draft('');
      await utimes(dayOld, 1, 1);
      const gone = await draft(`${killed}.`);
      const kept = [
        await draft(`${own}.`),
        await draft(`${elsewhere}.`),
        await folder.write('fleet.backup.unfinished', ''),
      ];
      kept.push(await folder.write(`other.fleet.backup.${killed}.0123abcd.unfinished`, ''));
      await back();
      assert.ok(existsSync(gone), 'its writer lives');
      assert.ok(!existsSync(dayOld));
      child.kill('SIGKILL');
      await ended;
      await run('backup', file, '--home', home, '--force');
      assert.ok(!existsSync(gone));
      for (const path of kept) assert.ok(existsSync(path), path);
    } finally {
      child.kill('SIGKILL');
    }
  });

  it('restore into nothing that is in use, and change nothing of it', async () => {
    await back();
    const before = await contentOf(homePlace(home));
    assert.match(
      await refused('restore', file, '--home', home),
      /there is a store at \S+ already\nhint: use another --home/,
    );
    assert.deepEqual(await contentOf(homePlace(home)), before);
    await mkdir(join(fresh, 'pki'), { recursive: true });
    await writeFile(join(fresh, 'pki', 'sealing.key'), 'another\n');
    assert.match(
      await refused('restore', file, '--home', fresh),
      /there are other keys in \S+pki already\nhint: .*--no-pki/,
    );
    assert.equal(existsSync(join(fresh, 'state.db')), false);
    assert.match(await run('restore', file, '--home', fresh, '--no-pki'), /^restored 300 keys/);
    assert.equal(await readFile(join(fresh, 'pki', 'sealing.key'), 'utf8'), 'another\n');
  });

  it('restore nothing of a file that is damaged, cut, foreign, newer or away', async () => {
    await back();
    const whole = await readFile(file);
    const text = gunzipSync(whole).toString();
    const files: readonly [string, Buffer, RegExp][] = [
      [
        'damaged',
        Buffer.concat([whole.subarray(0, 2000), Buffer.from('x'), whole.subarray(2001)]),
        /damaged at or before byte \d+ of \d+|checksum|line/,
      ],
      ['cut', whole.subarray(0, whole.length - 9), /is cut off at byte \d+/],
      ['foreign', Buffer.from('hello'), /it is no backup of Coppice/],
      [
        'newer',
        gzipSync(text.replace('"coppiceBackup":1', '"coppiceBackup":3')),
        /a newer version .* made it: format 3/,
      ],
      ['changed', gzipSync(text.replace('"n\\":7,', '"n\\":8,')), /the checksum does not fit.*line 304, end/],
    ];
    for (const [name, content, words] of files) {
      const path = await folder.write(`${name}.backup`, content);
      for (const argv of [
        ['restore', path, '--home', fresh],
        ['restore', path, '--home', fresh, '--dry-run'],
        ['backup', '--verify', path],
      ]) {
        const said = await refused(...argv);
        assert.match(said, words);
        assert.ok(said.startsWith(`error: ${path}: `), said);
      }
    }
    assert.match(await refused('restore', 'away.backup', '--home', fresh), /there is no \S+away\.backup/);
    assert.equal(existsSync(fresh), false);
  });

  it('take no keys of another installation for those of the store', async () => {
    const [own, other] = [systemIds.secret(32), systemIds.secret(32)];
    const idOf = (key: string) => sealingKeyId(Buffer.from(key, 'hex'));
    const at = 'objects/core/secrets/demo/s';
    await using store = await homePlace(home).open();
    const value = Buffer.from(new Sealer([own]).seal(Buffer.from('{}'), at, 'uid'));
    assert.ok((await store.txn({ compares: [], puts: [{ key: at, value }], deletes: [] }).done).ok);
    await store[Symbol.asyncDispose]();
    const pki = join(home, 'pki');
    await writeFile(join(pki, 'sealing.key'), `${other}\n${own}\n`);
    await back();
    await run('backup', '--verify', file);
    await writeFile(join(pki, 'sealing.key'), `${other}\n`);
    const said = await refused('backup', 'x', '--home', home);
    assert.ok(said.includes(`error: ${pki} is not the pki folder of this store`), said);
    assert.match(
      said,
      new RegExp(`sealed with key ${idOf(own)}, and the folder has key ${idOf(other)}\\nhint: .*--no-pki`),
    );
    assert.equal(existsSync(join(folder.path, 'x')), false);
    await run('backup', 'without', '--home', home, '--no-pki');

    const lines = gunzipSync(await readFile(file))
      .toString()
      .trimEnd()
      .split('\n');
    const wrong = lines.slice(0, -1).map((line) => {
      const read = JSON.parse(line);
      const data = Buffer.from(`${other}\n`).toString('base64');
      return read.file === 'sealing.key' ? JSON.stringify({ ...read, data }) : line;
    });
    const sha256 = createHash('sha256')
      .update(`${wrong.join('\n')}\n`)
      .digest('hex');
    const end = JSON.stringify({ ...JSON.parse(lines.at(-1) ?? ''), sha256 });
    await writeFile(file, gzipSync(`${[...wrong, end].join('\n')}\n`));
    const words = new RegExp(
      `in it is that of another store: .* sealed with key ${idOf(own)}, .* has key ${idOf(other)}`,
    );
    assert.match(await refused('backup', '--verify', file), words);
    assert.match(await refused('restore', file, '--home', fresh, '--dry-run'), words);
    assert.match(await refused('restore', file, '--home', fresh), words);
    assert.equal(existsSync(fresh), false);
    await run('restore', file, '--home', fresh, '--no-pki');
  });

  it('only look, with --dry-run', async () => {
    await back();
    assert.match(
      await run('restore', file, '--home', fresh, '--dry-run'),
      /is whole: 300 keys and 2 files would go to/,
    );
    assert.equal(existsSync(fresh), false);
    assert.match(await refused('restore', file, '--home', home, '--dry-run'), /there is a store at/);
  });

  it('killed while it restores leave nothing that can be served, and end well when run again', async () => {
    await fill(homePlace(join(folder.path, 'large')), 3000);
    await run('backup', file, '--home', join(folder.path, 'large'), '--no-pki');
    const content = await contentOf(homePlace(join(folder.path, 'large')));
    let seen = 0;
    for (let round = 0; round < KILLS; round++) {
      const to = join(folder.path, `to-${round}`);
      for (let attempt = 1; ; attempt++) {
        const killAfterMs = attempt > 4 ? undefined : 400 + (((round * 4 + attempt) * 173) % 1600);
        const { code, output } = await coppice(['restore', file, '--home', to], killAfterMs);
        if (code === 0) break;
        if (existsSync(join(to, 'state.db.restoring'))) {
          seen += 1;
          assert.throws(() => refuseMarked(join(to, 'state.db')), /a restore into \S+ did not come to its end/);
        } else if (existsSync(join(to, 'state.db'))) break;
        assert.ok(attempt <= 4, output);
      }
      assert.equal(await homePlace(to).served(), true);
      assert.deepEqual(await contentOf(homePlace(to)), content);
      assert.deepEqual(
        // Who is killed in the middle of writing the mark leaves its draft, which is nobody's.
        (await tree(to)).filter((name) => name.startsWith('state') && !name.endsWith('.tmp')),
        ['state.db'],
      );
    }
    process.stdout.write(`      killed in the middle ${seen} times\n`);
  });

  it('a home in which a restore was cut short is not served from', async () => {
    await mkdir(fresh, { recursive: true, mode: 0o700 });
    await writeFile(join(fresh, 'state.db.restoring'), '{}\n');
    const said = await refused('up', '--home', fresh, '--driver', 'sim', '--port', '0');
    assert.match(said, /^error: a restore into \S+ did not come to its end\nhint: run "coppice restore" again/);
    await back();
    await run('restore', file, '--home', fresh);
    assert.equal(await homePlace(fresh).served(), true);
  });

  it('leave no half of a file where the disk is full', async function () {
    if (!existsSync('/dev/full')) return this.skip();
    await back();
    // A file as large as it may be: the size limit of a process stands for the disk that is full.
    const { code, output } = await coppiceWithin(4, ['backup', join(folder.path, 'big.backup'), '--home', home]);
    assert.equal(code, 1, output);
    assert.match(output, /^error: \S* ?.*larger than a file may be here/);
    assert.deepEqual(
      (await readdir(folder.path)).filter((name) => name.startsWith('big')),
      [],
    );
  });

  it('leave a home as it was when a restore fails', async () => {
    await run('backup', file, '--home', home, '--no-pki');
    const { code, output } = await coppiceWithin(64, ['restore', file, '--home', fresh]);
    assert.equal(code, 1, output);
    assert.deepEqual(
      (await tree(fresh)).filter((name) => name.startsWith('state')),
      [],
    );
    await run('restore', file, '--home', fresh);
    assert.equal(await homePlace(fresh).served(), true);
  });

  it('go between a home and etcd', async function () {
    if (findEtcd() === undefined) {
      process.stderr.write('skipped: backups of etcd need etcd (Debian: etcd-server)\n');
      return this.skip();
    }
    await using etcd = await EtcdServer.start();
    const content = await contentOf(homePlace(home));
    await back();
    const at = ['--etcd', etcd.endpoint];
    assert.match(await refused('backup', 'e.backup', '--home', home, ...at), /there is no store under coppice in etcd/);
    assert.match(await run('restore', file, '--home', fresh, ...at), /^restored 300 keys .* to etcd at/);
    assert.deepEqual(await contentOf(etcdPlace(etcd, 'coppice')), content);
    assert.deepEqual(await tree(join(fresh, 'pki')), ['retired/sealing.key', 'sealing.key']);
    assert.match(await refused('restore', file, '--home', fresh, ...at), /there is a store in etcd at .* already/);
    const second = join(folder.path, 'etcd.backup');
    assert.match(
      await run('backup', second, '--home', fresh, ...at),
      /^backed up 300 keys at revision 1\d{9} of store/,
    );
    const third = join(folder.path, 'third');
    await run('restore', second, '--home', third);
    assert.deepEqual(await contentOf(homePlace(third)), content);
    await using store = await homePlace(third).open();
    assert.ok(store.revision() > 2_000_000_000, 'each restore is ahead of the one before');
  });

  it('say nothing of how etcd is reached over TLS', async function () {
    if (findEtcd() === undefined) {
      process.stderr.write('skipped: backups of etcd need etcd (Debian: etcd-server)\n');
      return this.skip();
    }
    const { ca, cert, key } = await testCertificate();
    const tls = { cert: await folder.write('cert.pem', cert), key: await folder.write('key.pem', key) };
    await using etcd = await EtcdServer.start({ tls });
    const at = ['--etcd', etcd.endpoint, '--etcd-ca', await folder.write('ca.pem', ca), '--home', home];
    await run('backup', file, '--home', home);
    for (const args of [
      ['restore', file],
      ['backup', join(folder.path, 'second')],
    ]) {
      const { code, output } = await coppice([...args, ...at]);
      assert.equal(code, 0, output);
      assert.doesNotMatch(output, /Warning|DEP0123/);
    }
  });

  it('name what cannot be read', async () => {
    await truncate(await folder.write('empty.backup', 'x'), 0);
    assert.match(
      await refused('backup', '--verify', join(folder.path, 'empty.backup')),
      /it is empty|cut off|no backup/,
    );
    const name = systemIds.suffix(5);
    assert.match(
      await refused('backup', name, '--home', home, '--kubeconfig', join(folder.path, 'none')),
      /kubeconfig/,
    );
  });
});

/** As `coppice`, in a shell where no file may become larger than so many kibibytes. */
async function coppiceWithin(kibibytes: number, args: readonly string[]) {
  const { spawn } = await import('node:child_process');
  const program = join(import.meta.dirname, '../../../../bin/coppice');
  const child = spawn('bash', ['-c', `ulimit -f ${kibibytes}; trap '' XFSZ; exec "$0" "$@"`, program, ...args]);
  let output = '';
  child.stdout.on('data', (piece) => {
    output += String(piece);
  });
  child.stderr.on('data', (piece) => {
    output += String(piece);
  });
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, output };
}
