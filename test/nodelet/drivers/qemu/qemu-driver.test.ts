import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { appendFile, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { GuestSpec, ObservedGuest } from '../../../../nodelet/drivers/driver.ts';
import { MAX_CONSOLE_BYTES } from '../../../../nodelet/drivers/qemu/console-log.ts';
import { guestFiles } from '../../../../nodelet/drivers/qemu/guest-files.ts';
import { procProcesses } from '../../../../nodelet/drivers/qemu/host-processes.ts';
import type { QemuDriver } from '../../../../nodelet/drivers/qemu/qemu-driver.ts';
import type { Clock } from '../../../../resources/ambient/clock.ts';
import { lineLogger } from '../../../../resources/ambient/log.ts';
import { systemClock } from '../../../../resources/ambient/system-clock.ts';
import { eventually } from '../eventually.ts';
import { QemuHost } from './qemu-host.ts';
import { tinyLinux } from './tiny-linux.ts';

const MIB = 1024 ** 2;
const { signal } = new AbortController();
const run = promisify(execFile);

describe('guests in QEMU', function () {
  this.timeout(60_000);
  let image: { readonly imagesRoot: string; readonly digest: string };
  let host: QemuHost;
  let driver: QemuDriver;

  before(async function () {
    const made = await tinyLinux();
    const missing = typeof made === 'string' ? made : await whyNoQemu(made.imagesRoot);
    if (typeof made === 'string' || missing !== undefined) {
      process.stdout.write(`    skipped: ${missing}\n`);
      this.skip();
    }
    image = made;
  });
  beforeEach(async () => {
    host = await QemuHost.make(image.imagesRoot);
    driver = await host.open({ accelerator: 'tcg' });
  });
  afterEach(async () => {
    await driver[Symbol.asyncDispose]();
    await host[Symbol.asyncDispose]();
  });

  const create = async (changes: Partial<GuestSpec> = {}) => {
    const spec: GuestSpec = {
      id: 'g1',
      label: 'demo/g1',
      hostname: 'g1',
      guestOS: 'linux',
      image: { path: 'tiny-linux', digest: image.digest },
      vcpus: 1,
      memoryBytes: 128 * MIB,
      diskBytes: 0,
      epoch: 1,
      ...changes,
    };
    await driver.create(spec, signal);
  };
  const seen = async (id = 'g1'): Promise<ObservedGuest> =>
    (await driver.list(signal)).find((g) => g.id === id) ?? assert.fail(`guest ${id} is not listed`);
  const until = (what: string, check: (guest: ObservedGuest) => boolean) =>
    eventually(
      what,
      async () => {
        const guest = await seen();
        return check(guest) && guest;
      },
      30_000,
    );
  const shell = async (script: string): Promise<string> => {
    const command = await driver.exec('g1', { command: ['sh', '-c', script], stdin: false }, signal);
    let words = '';
    for await (const bytes of command.stdout) words += Buffer.from(bytes).toString();
    const { code } = await command.exit;
    assert.equal(code, 0, `${script}: ${words}`);
    return words;
  };
  const folder = () => join(host.root, 'guests/g1');

  it('does not run commands before the agent answers, and says why', async () => {
    await create();
    await driver.start('g1', signal);
    await assert.rejects(driver.exec('g1', { command: ['true'], stdin: false }, signal), {
      reason: 'AgentUnavailable',
      message: 'guest demo/g1: its guest agent does not answer',
    });
  });

  it('tells of a guest that hangs, runs nothing in it, sees it come back, and ends it even so', async () => {
    await driver[Symbol.asyncDispose]();
    const clock: Clock = {
      ...{ now: systemClock.now, monotonic: systemClock.monotonic },
      sleep: (ms, s) => systemClock.sleep(ms / 20, s),
      after: (ms, run) => systemClock.after(ms / 20, run),
    };
    driver = await host.open({ accelerator: 'tcg', clock });
    await create();
    await driver.start('g1', signal);
    await until('agent answers', (guest) => guest.agentReady === true);
    const pid = (await host.pid('g1')) ?? assert.fail('it has no process');
    process.kill(pid, 'SIGSTOP');
    const command = { command: ['true'], stdin: false };
    await assert.rejects(driver.exec('g1', command, signal), {
      reason: 'AgentUnavailable',
      message: /began no command within 15 s/,
    });
    const lost = await until('lost', (guest) => guest.problem?.reason === 'AgentLost');
    assert.equal(lost.agentReady, false);
    await assert.rejects(driver.exec('g1', command, signal), { message: /its guest agent does not answer/ });
    process.kill(pid, 'SIGCONT');
    await until('back', (guest) => guest.problem === undefined && guest.agentReady === true);
    process.kill(pid, 'SIGSTOP');
    await driver.stop('g1', { graceMs: 1000 }, signal);
    assert.equal((await seen()).stopReason, 'Requested');
    assert.equal(await procProcesses('/proc').find(pid), undefined);
  });

  it('ends guests whose folder was deleted under them, and then forgets them', async () => {
    const { find } = procProcesses('/proc');
    for (const end of [() => driver.stop('g1', { graceMs: 0 }, signal), () => driver.remove('g1', signal)]) {
      await create();
      await driver.start('g1', signal);
      const pid = (await host.pid('g1')) ?? assert.fail('it has no process');
      await rm(folder(), { recursive: true });
      assert.equal((await seen()).power, 'Running');
      await end();
      assert.equal(await find(pid), undefined);
      assert.deepEqual(await driver.list(signal), []);
    }
  });

  it('finds what runs of a guest whose folder was deleted while nobody looked, and ends it only when it is removed', async () => {
    await create({ label: 'demo/a,b' });
    await driver.start('g1', signal);
    const pid = (await host.pid('g1')) ?? assert.fail('it has no process');
    await driver[Symbol.asyncDispose]();
    await rm(folder(), { recursive: true });
    const { find } = procProcesses('/proc');
    try {
      driver = await host.open({ accelerator: 'tcg' });
      const { label, power, memoryBytes, vcpus, problem } = await seen();
      assert.deepEqual([label, power, memoryBytes, vcpus], ['demo/a,b', 'Running', 128 * MIB, 1]);
      assert.equal(problem?.reason, 'FolderLost');
      await assert.rejects(create(), { message: /only removing it ends it/ });
      await assert.rejects(driver.stop('g1', { graceMs: 0 }, signal), { message: /only removing it ends it/ });
      assert.notEqual(await find(pid), undefined);
      await driver.remove('g1', signal);
      assert.equal(await find(pid), undefined);
      assert.deepEqual(await driver.list(signal), []);
    } finally {
      if ((await find(pid))?.argv.includes(folder())) process.kill(pid, 'SIGKILL');
    }
  });

  it('gives a guest a disk, asks it to shut down before it ends it, keeps disk and console, and tells a reboot by the guest', async () => {
    await create({ diskBytes: 64 * MIB });
    await driver.start('g1', signal);
    await until('agent answers', (guest) => guest.agentReady === true);
    assert.equal(await shell('cat /sys/block/vda/size'), `${(64 * MIB) / 512}\n`);
    await shell('printf marked > /dev/vda; sync');
    await driver.stop('g1', { graceMs: 20_000 }, signal);
    assert.equal((await seen()).stopReason, 'Requested');
    const log = join(folder(), 'console.log');
    assert.match(await readFile(log, 'utf8'), /Power down/);

    await driver.start('g1', signal);
    await until('agent answers', (guest) => guest.agentReady === true);
    assert.equal(await shell('head -c 6 /dev/vda'), 'marked');

    await appendFile(log, 'x'.repeat(MAX_CONSOLE_BYTES));
    await eventually('the log was cut', async () => (await stat(log)).size < MAX_CONSOLE_BYTES);
    await shell('echo after >/dev/console');
    await eventually('the guest goes on writing', async () => (await readFile(log, 'utf8')).includes('after'));
    assert.equal((await readFile(log)).includes(0), false);
    assert.match(await readFile(`${log}.1`, 'utf8'), /Power down/);

    await shell('(sleep 0.1; reboot -f) </dev/null >/dev/null 2>&1 &');
    const off = await until('off', (guest) => guest.power === 'Off');
    assert.match(off.message ?? '', /restarted or panicked \(guest-reset\)/);
  });

  it('tells that a guest powered itself off while nobody looked', async () => {
    await create();
    await driver.start('g1', signal);
    await until('agent answers', (guest) => guest.agentReady === true);
    await shell('(sleep 0.3; poweroff -f) </dev/null >/dev/null 2>&1 &');
    const pid = await host.pid('g1');
    await driver[Symbol.asyncDispose]();
    await eventually('the guest powered off', async () =>
      /Power down/.test(await readFile(join(folder(), 'console.log'), 'utf8')),
    );
    assert.equal(await host.pid('g1'), pid, 'QEMU waits to be asked');
    driver = await host.open({ accelerator: 'tcg' });
    const guest = await until('off', (g) => g.power === 'Off');
    assert.equal(guest.stopReason, 'GuestShutdown');
    assert.equal(await host.pid('g1'), undefined);
  });

  it('adopts a guest whose state was lost, by its pidfile, and does not start it twice', async () => {
    await create();
    await driver.start('g1', signal);
    const pid = await host.pid('g1');
    await driver[Symbol.asyncDispose]();
    await rm(join(folder(), 'state.json'));
    driver = await host.open({ accelerator: 'tcg' });
    await driver.start('g1', signal);
    assert.equal((await seen()).power, 'Running');
    assert.equal(await host.pid('g1'), pid);
  });

  it('starts a guest in a session of its own, where no Ctrl-C reaches it', async () => {
    await create();
    await driver.start('g1', signal);
    const pid = await host.pid('g1');
    assert.equal((await run('ps', ['-o', 'sid=', '-p', String(pid)])).stdout.trim(), String(pid));
  });

  it('lets a guest go on that was started but not yet told to', async () => {
    await create();
    await driver.start('g1', signal);
    await driver[Symbol.asyncDispose]();
    const state = JSON.parse(await readFile(join(folder(), 'state.json'), 'utf8'));
    await writeFile(join(folder(), 'state.json'), JSON.stringify({ ...state, phase: 'Starting' }));
    driver = await host.open({ accelerator: 'tcg' });
    assert.equal((await seen()).power, 'Starting');
    await driver.start('g1', signal);
    assert.equal((await seen()).power, 'Running');
  });

  it('lists a guest as running while another program has its monitor, and comes back to it', async () => {
    await create();
    await driver.start('g1', signal);
    await driver[Symbol.asyncDispose]();
    const other = connect(join(folder(), 'qmp.sock'));
    await new Promise<void>((resolve) => other.once('data', () => resolve()));
    try {
      driver = await host.open({ accelerator: 'tcg' });
      assert.equal((await seen()).power, 'Running');
    } finally {
      other.destroy();
    }
    await driver.pause('g1', signal);
    assert.equal((await seen()).power, 'Paused');
  });

  it('knows that a guest of before a host reboot does not run, even if its pid does', async () => {
    await create();
    await driver.start('g1', signal);
    await driver[Symbol.asyncDispose]();
    await host.kill('g1');
    const state = JSON.parse(await readFile(join(folder(), 'state.json'), 'utf8'));
    await writeFile(join(folder(), 'state.json'), JSON.stringify({ ...state, pid: process.pid }));
    const processes = { ...procProcesses('/proc'), bootId: async () => 'another boot' };
    driver = await host.open({ accelerator: 'tcg', processes });
    const guest = await seen();
    assert.equal(guest.power, 'Off');
    assert.equal(guest.stopReason, 'HostRebooted');
  });

  it('says why QEMU refused to start a guest, on the guest too', async () => {
    await create({ diskBytes: MIB });
    await writeFile(join(folder(), 'disk.qcow2'), 'this is no disk'.repeat(100));
    await assert.rejects(driver.start('g1', signal), {
      reason: 'Invalid',
      message: /did not start: its disk is not readable/,
    });
    const guest = await seen();
    assert.equal(guest.power, 'Off');
    assert.equal(guest.stopReason, 'StartFailed');
    assert.match(guest.message ?? '', /disk is not readable/);
  });

  it('leaves folders that are no guests alone, and reports each once', async () => {
    const said: string[] = [];
    await driver[Symbol.asyncDispose]();
    await mkdir(join(host.root, 'guests/stranger'));
    await mkdir(join(host.root, 'guests/half.creating'));
    driver = await host.open({
      accelerator: 'tcg',
      log: lineLogger(
        (line) => said.push(line),
        () => 0,
      ),
    });
    assert.deepEqual(await driver.list(signal), []);
    await driver.list(signal);
    assert.equal(said.filter((line) => line.includes('guests/stranger')).length, 1);
    assert.ok((await stat(join(host.root, 'guests/stranger'))).isDirectory());
    await assert.rejects(stat(join(host.root, 'guests/half.creating')), { code: 'ENOENT' });
  });

  it('cleared, has no workspace of any guest left: disks, sockets and rubbish are gone', async () => {
    await driver[Symbol.asyncDispose]();
    const root = join(host.root, 'x'.repeat(90));
    const sockets = { root: tmpdir(), userId: process.getuid?.() ?? 0 };
    const guests = join(root, 'guests');
    driver = await host.open({ accelerator: 'tcg', root });
    await create({ diskBytes: MIB });
    await driver.start('g1', signal);
    await assert.rejects(driver.clear(signal), /there are 1 guests/);
    await driver.remove('g1', signal);
    const lost = guestFiles(join(guests, 'lost'), sockets);
    await mkdir(lost.dir);
    await writeFile(lost.disk, 'the secrets of a tenant');
    await mkdir(lost.socketDir);
    await mkdir(join(guests, 'half.creating'));
    await writeFile(join(guests, 'efi.fd'), '');
    assert.equal(await driver.clear(signal), 3);
    assert.deepEqual(await readdir(guests), []);
    await assert.rejects(stat(lost.socketDir), { code: 'ENOENT' });
    await create();
    await driver.start('g1', signal);
    assert.equal((await seen()).power, 'Running');
    // Its root is not where guests of the tests are looked for in the end.
    await driver.remove('g1', signal);
  });

  it('is not cleared while something runs of a guest whose folder is gone', async () => {
    await create();
    await driver.start('g1', signal);
    await driver[Symbol.asyncDispose]();
    const pid = await host.pid('g1');
    await rm(folder(), { recursive: true });
    driver = await host.open({ accelerator: 'tcg' });
    try {
      await assert.rejects(driver.clear(signal), /there are 1 guests/);
      assert.deepEqual(
        (await driver.list(signal)).map(({ id }) => id),
        ['g1'],
      );
      await driver.remove('g1', signal);
      assert.equal(await driver.clear(signal), 0);
    } finally {
      if (pid !== undefined && (await procProcesses('/proc').find(pid))?.argv.includes(host.root)) process.kill(pid);
    }
  });

  it('refuses ids and image paths that lead elsewhere', async () => {
    await assert.rejects(create({ id: '../g1' }), { reason: 'Invalid' });
    await assert.rejects(create({ image: { path: '../g1', digest: '' } }), { reason: 'Invalid' });
    await assert.rejects(create({ guestOS: 'macos' }), { reason: 'Unsupported' });
  });

  it('runs under a long path', async () => {
    await driver[Symbol.asyncDispose]();
    const root = join(host.root, 'x'.repeat(90));
    const long = guestFiles(join(root, 'guests/g1'), { root: tmpdir(), userId: process.getuid?.() ?? 0 });
    driver = await host.open({ accelerator: 'tcg', root });
    await create();
    await driver.start('g1', signal);
    const argv = (await run('ps', ['-ww', '-eo', 'args'])).stdout;
    assert.ok(argv.includes(long.pidfile));
    assert.ok((await stat(long.qmpSocket)).isSocket());
    await driver.remove('g1', signal);
    await assert.rejects(stat(long.socketDir), { code: 'ENOENT' });
  });

  it('reports a full disk of the host, and lets the guest go on when there is space', async function () {
    const small = join(host.root, 'small');
    await mkdir(small);
    const mounted = await run('mount', ['-t', 'tmpfs', '-o', 'size=200m', 'tmpfs', small]).then(
      () => true,
      () => false,
    );
    if (!mounted) {
      process.stdout.write('      skipped: no small file system can be mounted here\n');
      this.skip();
    }
    try {
      await driver[Symbol.asyncDispose]();
      driver = await host.open({ accelerator: 'tcg', root: small });
      await create({ diskBytes: 128 * MIB });
      await driver.start('g1', signal);
      await until('agent answers', (guest) => guest.agentReady === true);
      await writeFile(join(small, 'filler'), new Uint8Array(195 * MIB));
      await shell(
        '(dd if=/dev/zero of=/dev/vda bs=1M count=16; sync; echo written >/dev/console) </dev/null >/dev/null 2>&1 &',
      );
      const full = await until('the problem is reported', (guest) => guest.problem !== undefined);
      assert.equal(full.problem?.reason, 'DiskFull');
      assert.equal(full.power, 'Running');
      // A driver that comes later finds it out, too.
      await driver[Symbol.asyncDispose]();
      driver = await host.open({ accelerator: 'tcg', root: small });
      assert.equal((await seen()).problem?.reason, 'DiskFull');
      await rm(join(small, 'filler'));
      await until('the guest goes on', (guest) => guest.problem === undefined);
      await eventually('the write is done', async () =>
        /written/.test(await readFile(join(small, 'guests/g1/console.log'), 'utf8')),
      );
    } finally {
      await driver.remove('g1', signal);
      await driver[Symbol.asyncDispose]();
      await run('umount', ['-l', small]);
    }
  });

  async function whyNoQemu(imagesRoot: string): Promise<string | undefined> {
    await using probe = await QemuHost.make(imagesRoot);
    try {
      await using _ = await probe.open({ accelerator: 'tcg' });
      return undefined;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }
});
