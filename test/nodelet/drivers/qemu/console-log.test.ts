import assert from 'node:assert/strict';
import { appendFile, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { classifyFailure } from '../../../../nodelet/drivers/qemu/classify-failure.ts';
import { readConsole, rotateConsole } from '../../../../nodelet/drivers/qemu/console-log.ts';
import { type GuestFiles, guestFiles } from '../../../../nodelet/drivers/qemu/guest-files.ts';
import { ManualClock } from '../../../../resources/ambient/manual-clock.ts';
import { eventually } from '../eventually.ts';

const { signal } = new AbortController();

describe('the console log', () => {
  let root: string;
  let files: GuestFiles;
  let clock: ManualClock;
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'coppice-log-'));
    files = guestFiles(root, { root, userId: 0 });
    clock = new ManualClock();
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  const read = async (tailLines?: number) => {
    let words = '';
    const options = tailLines === undefined ? {} : { tailLines };
    for await (const bytes of readConsole(files, options, clock, signal)) words += Buffer.from(bytes).toString();
    return words;
  };

  it('is cut when long, with one old part kept, and read as one', async () => {
    await writeFile(files.console, 'one\ntwo\n');
    assert.equal(await rotateConsole(files, 8), false);
    assert.equal(await rotateConsole(files, 7), true);
    assert.equal((await stat(files.console)).size, 0);
    await appendFile(files.console, 'three\n');
    assert.equal(await read(), 'one\ntwo\nthree\n');
    assert.equal(await read(2), 'two\nthree\n');
    await rotateConsole(files, 1);
    assert.equal(await readFile(files.consoleOld, 'utf8'), 'three\n');
  });

  it('gives the last lines, one without its end included', async () => {
    await writeFile(files.console, 'one\ntwo\nthree');
    assert.equal(await read(1), 'three');
    assert.equal(await read(2), 'two\nthree');
    assert.equal(await read(9), 'one\ntwo\nthree');
    assert.equal(await read(0), '');
  });

  it('is followed over a cut, and to its deletion', async () => {
    await writeFile(files.console, 'one\n');
    let seen = '';
    let ended = false;
    const following = (async () => {
      for await (const bytes of readConsole(files, { follow: true }, clock, signal))
        seen += Buffer.from(bytes).toString();
      ended = true;
    })();
    const until = (words: string) =>
      eventually(`follower has seen ${words}`, async () => {
        await clock.advance(200);
        return seen.endsWith(words);
      });
    await until('one\n');
    await appendFile(files.console, 'two\n');
    await until('two\n');
    await appendFile(files.console, 'three\n');
    await rotateConsole(files, 1);
    await appendFile(files.console, 'four\n');
    await until('four\n');
    assert.equal(seen, 'one\ntwo\nthree\nfour\n');
    await rm(files.console);
    await eventually('following ends', async () => {
      await clock.advance(200);
      return ended;
    });
    await following;
  });
});

describe('what QEMU says before it gives up', () => {
  const said: readonly [string, string, RegExp][] = [
    [
      'qemu-system-x86_64: -blockdev x: Failed to get "write" lock\nIs another process using the image [/d]?',
      'InUse',
      /attached to another guest/,
    ],
    ["qemu-system-x86_64: cannot set up guest memory 'pc.ram': Cannot allocate memory", 'Failed', /not enough memory/],
    ['qemu-system-x86_64: -blockdev x: Image is not in qcow2 format', 'Invalid', /disk is not readable/],
    ['Could not access KVM kernel module: Permission denied', 'Failed', /group kvm/],
    ["qemu: could not load kernel '/x'", 'ImageMissing', /not there/],
    [
      'qemu-system-x86_64: cannot create PID file: Cannot lock pid file: Resource temporarily unavailable',
      'InUse',
      /runs it already/,
    ],
    ['', 'Failed', /^guest demo\/a did not start: QEMU gave up$/],
  ];
  for (const [stderr, reason, message] of said) {
    it(`is ${reason}: ${message.source}`, () => {
      const error = classifyFailure('demo/a', stderr);
      assert.equal(error.reason, reason);
      assert.match(error.message, message);
    });
  }
});
