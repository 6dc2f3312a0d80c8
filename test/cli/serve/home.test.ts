import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openHome, startFailure } from '../../../cli/serve/home.ts';

/** Somebody without rights. */
const NOBODY = 65534;

describe('the home of an installation', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'coppice-home-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const failure = (message: string) => ({ name: 'Failure', message, hint: 'choose another folder with --home' });

  it('is made for its owner only, and can be opened again', () => {
    const path = join(folder, 'a', 'b');
    const { images, store } = openHome(path);
    for (const made of [path, images, join(path, 'hosts'), join(path, 'log'), join(path, 'cache')])
      assert.equal(statSync(made).mode & 0o777, 0o700, made);
    assert.equal(store, join(path, 'state.db'));
    assert.deepEqual({ ...openHome(path), host: 0 }, { ...openHome(path), host: 0 });
    assert.equal(openHome(path).host('mac-1'), join(path, 'hosts', 'mac-1'));
  });

  it('is not where a file is', () => {
    const file = join(folder, 'file');
    writeFileSync(file, '');
    assert.throws(() => openHome(file), failure(`${file} is a file, not a folder`));
    assert.throws(() => openHome(join(file, 'below')), failure(`${file} is a file, not a folder`));
    const taken = join(folder, 'home');
    mkdirSync(taken);
    writeFileSync(join(taken, 'images'), '');
    assert.throws(() => openHome(taken), failure(`${taken}/images is a file, not a folder`));
  });

  it('is not at a name the system does not take', () => {
    const long = join(folder, 'x'.repeat(300));
    assert.throws(() => openHome(long), failure(`${long} is too long a name`));
    const loop = join(folder, 'loop');
    symlinkSync(loop, loop);
    assert.throws(() => openHome(loop), failure(`${loop} leads to itself through symbolic links`));
    if (process.platform === 'linux')
      assert.throws(() => openHome('/proc/coppice/home'), failure('/proc/coppice cannot be made there'));
  });

  it('needs to be readable and writable', function () {
    if (process.getuid?.() !== 0) {
      process.stderr.write('skipped: to be somebody else one must be root\n');
      this.skip();
    }
    chmodSync(folder, 0o755);
    const closed = join(folder, 'closed');
    mkdirSync(closed, { mode: 0o700 });
    const readable = join(folder, 'readable');
    mkdirSync(readable, { mode: 0o755 });
    for (const path of [closed, readable, join(readable, 'new')])
      assert.equal(openAsNobody(path), `no permission to use ${path}`);
  });

  it('says of a disk what is the matter with it, whichever file met it', () => {
    const error = (code: string) => Object.assign(new Error('no'), { code, path: join(folder, 'pki', 'ca.key.1.tmp') });
    const of = (code: string) => {
      const said = startFailure(error(code), folder);
      assert.ok(said instanceof Error && 'hint' in said);
      return [said.message, said.hint];
    };
    assert.deepEqual(of('ENOSPC'), [
      `the disk that holds ${folder} is full`,
      'make room there, or choose another folder with --home',
    ]);
    assert.equal(of('EDQUOT')[0], `the disk quota of ${folder} is used up`);
    assert.equal(of('EROFS')[0], `${folder} is on a read-only file system`);
    assert.equal(of('EACCES')[0], `no permission to use ${folder}/pki/ca.key.1.tmp`);
  });

  it('is not to blame for what lies elsewhere, or is no matter of files', () => {
    const elsewhere = Object.assign(new Error('no'), { code: 'ENOENT', path: '/proc/sys/kernel/random/boot_id' });
    assert.equal(startFailure(elsewhere, folder), elsewhere);
    const other = new TypeError('no');
    assert.equal(startFailure(other, folder), other);
    assert.equal(startFailure(undefined, folder), undefined);
  });
});

/** What opening it as somebody without rights says. The modules are loaded before: nobody may read them. */
function openAsNobody(path: string): string {
  const home = JSON.stringify(join(import.meta.dirname, '../../../cli/serve/home.ts'));
  const code = `import(${home}).then(({ openHome }) => {
    process.setgid(${NOBODY});
    process.setuid(${NOBODY});
    try { openHome(process.argv[1]); } catch (error) { process.stdout.write(error.message); }
  })`;
  return spawnSync(process.execPath, ['-e', code, path], { encoding: 'utf8' }).stdout;
}
