import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildTinyLinux } from '../../../nodelet/images/build-tiny-linux.ts';
import { ImageDigests } from '../../../nodelet/images/image-digest.ts';
import type { RunCommand } from '../../../nodelet/images/run-command.ts';
import { PACKAGE_ROOT } from '../agent/agent-process.ts';
import { canBuildImage, tinyImage } from './tiny-image.ts';

describe('building the tiny Linux image', function () {
  this.timeout(180_000);
  let dir: string;
  const never = new AbortController().signal;

  before(async () => {
    dir = await mkdtemp(join(tmpdir(), 'cpi-'));
  });
  after(() => rm(dir, { recursive: true }));

  it('gives the same digest in another place, replaces an image out of date and leaves one alone that is not', async function () {
    if (!canBuildImage()) this.skip();
    const first = await tinyImage(join(dir, 'a/tiny-linux'));
    const stale = join(dir, 'somewhere-else/tiny-linux');
    await mkdir(stale, { recursive: true });
    const old = JSON.stringify({ ...first.manifest, agentSource: 'sha256:0' });
    for (const name of ['image.json', 'vmlinux', 'initrd.cpio']) await writeFile(join(stale, name), old);
    const second = await tinyImage(stale);
    assert.ok(first.built && second.built);
    assert.match(first.facts.digest, /^sha256:[0-9a-f]{64}$/);
    assert.deepEqual(second.facts, first.facts);
    assert.deepEqual(await readdir(join(dir, 'somewhere-else')), ['tiny-linux'], 'nothing is left beside it');
    assert.deepEqual(await new ImageDigests().facts(second.dir, never), first.facts);
    const before = await stat(join(first.dir, 'vmlinux'));
    const again = await tinyImage(first.dir);
    assert.equal(again.built, false);
    assert.deepEqual(again.facts, first.facts);
    assert.equal((await stat(join(first.dir, 'vmlinux'))).ino, before.ino);
    for (const name of ['image.json', 'initrd.cpio']) {
      const bytes = await readFile(join(first.dir, name));
      for (const trace of [dir, PACKAGE_ROOT, hostname()]) {
        if (trace.length > 3) assert.equal(bytes.indexOf(trace), -1, `${name} names ${trace}`);
      }
    }
  });

  const build = (run: RunCommand) =>
    buildTinyLinux({ outDir: join(dir, 'c/tiny-linux'), packageRoot: PACKAGE_ROOT, run, report: () => {} }, never);

  it('says what to do on a host that is not Debian', async () => {
    await assert.rejects(
      build(async () => 'missing'),
      /made from Debian packages/,
    );
  });

  it('says what to do when apt knows nothing', async () => {
    await assert.rejects(
      build(async () => ({ code: 100, stdout: '', stderr: 'E: No packages found' })),
      /apt-get update/,
    );
  });

  it('says what to install without a compiler, and leaves nothing behind', async () => {
    const control = 'Version: 1\nDepends: linux-image-9-cloud (= 1)\nSHA256: '.concat('0'.repeat(64), '\n');
    const run: RunCommand = async (argv) =>
      argv[0] === 'apt-cache' ? { code: 0, stdout: control, stderr: '' } : 'missing';
    await assert.rejects(build(run), /apt-get install gcc musl-tools/);
    await assert.rejects(stat(join(dir, 'c/tiny-linux')), { code: 'ENOENT' });
  });

  it('refuses a package whose digest is not the one apt’s lists promise', async () => {
    const control = 'Version: 1\nDepends: linux-image-9-cloud (= 1)\nSHA256: '.concat('0'.repeat(64), '\n');
    const run: RunCommand = async (argv, options) => {
      if (argv[0] === 'apt-get') await writeFile(join(options.cwd, 'x.deb'), 'not it');
      return { code: 0, stdout: control, stderr: '' };
    };
    await assert.rejects(build(run), /came with digest/);
  });
});
