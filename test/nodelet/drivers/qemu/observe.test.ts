import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { guestFiles, makeSocketDir } from '../../../../nodelet/drivers/qemu/guest-files.ts';
import type { GuestState } from '../../../../nodelet/drivers/qemu/guest-record.ts';
import { procProcesses, psProcesses } from '../../../../nodelet/drivers/qemu/host-processes.ts';
import { observeProcess } from '../../../../nodelet/drivers/qemu/observe.ts';
import { systemClock } from '../../../../resources/ambient/system-clock.ts';

describe('the proof that a guest runs', () => {
  let root: string;
  let dir: string;
  const sockets = { root: '/tmp', userId: 0 };
  const noted: GuestState = {
    schema: 1,
    phase: 'Running',
    generation: 1,
    pid: 4711,
    startTime: '900',
    bootId: 'boot-1',
  };

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'coppice-proc-'));
    dir = join(root, 'guest');
    await mkdir(dir);
    await mkdir(join(root, 'proc/sys/kernel/random'), { recursive: true });
    await writeFile(join(root, 'proc/sys/kernel/random/boot_id'), 'boot-1\n');
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  const runs = async (pid: number, startTime: string, options: { pidfile?: string; state?: string } = {}) => {
    const folder = join(root, 'proc', String(pid));
    await mkdir(folder);
    const fields = [options.state ?? 'S', ...Array.from({ length: 18 }, () => '0'), startTime, '0'];
    // A name may hold what looks like the end of it.
    await writeFile(join(folder, 'stat'), `${pid} (qemu) S (x) ${fields.join(' ')}\n`);
    await writeFile(
      join(folder, 'cmdline'),
      ['qemu', '-pidfile', options.pidfile ?? join(dir, 'qemu.pid'), '-S', ''].join('\0'),
    );
  };
  const observe = (state: GuestState) =>
    observeProcess(state, guestFiles(dir, sockets), procProcesses(join(root, 'proc')));

  it('finds the noted process', async () => {
    await runs(4711, '900');
    assert.deepEqual(await observe(noted), { kind: 'alive', pid: 4711, startTime: '900' });
  });

  it('takes no other process that came to have the pid', async () => {
    await runs(4711, '901');
    assert.deepEqual(await observe(noted), { kind: 'gone' });
  });

  it('takes no process with that start time that is not this guest', async () => {
    await runs(4711, '900', { pidfile: join(dir, '2/qemu.pid') });
    assert.deepEqual(await observe(noted), { kind: 'gone' });
  });

  it('takes the remains of a process for gone', async () => {
    await runs(4711, '900', { state: 'Z' });
    assert.deepEqual(await observe(noted), { kind: 'gone' });
  });

  it('finds by its pidfile a process nobody had time to note', async () => {
    await runs(5000, '950');
    await writeFile(join(dir, 'qemu.pid'), '5000\n');
    const { pid: _, startTime: __, ...starting } = noted;
    assert.deepEqual(await observe({ ...starting, phase: 'Starting' }), { kind: 'alive', pid: 5000, startTime: '950' });
  });

  it('does not trust a pidfile left behind', async () => {
    await runs(5000, '950', { pidfile: '/elsewhere/qemu.pid' });
    await writeFile(join(dir, 'qemu.pid'), '5000\n');
    assert.deepEqual(await observe(noted), { kind: 'gone' });
    await writeFile(join(dir, 'qemu.pid'), 'x\n');
    assert.deepEqual(await observe(noted), { kind: 'gone' });
  });

  it('knows that nothing noted before a reboot runs', async () => {
    await runs(4711, '900');
    assert.deepEqual(await observe({ ...noted, bootId: 'boot-0' }), { kind: 'host-rebooted' });
  });

  it('takes a failure to look for no answer at all', async () => {
    await mkdir(join(root, 'proc/4711/stat'), { recursive: true });
    await assert.rejects(observe(noted), { code: 'EISDIR' });
  });

  it('asks ps where there is no /proc', async () => {
    const processes = psProcesses(systemClock);
    const found = await processes.find(process.pid);
    assert.match(found?.argv ?? '', /mocha/);
    assert.deepEqual((await processes.find(process.pid))?.startTime, found?.startTime);
    assert.match(found?.startTime ?? '', /\d\d:\d\d:\d\d \d{4}$/);
    assert.equal(await processes.find(2 ** 22 + 1), undefined);
    const all = [processes, procProcesses('/proc')].map((asked) => asked.containing('mocha'));
    for (const found of await Promise.all(all)) assert.ok(found.some(({ pid }) => pid === process.pid));
  });

  it('puts sockets into no folder others could have made', async () => {
    const userId = process.getuid?.() ?? 0;
    const long = guestFiles(join(root, 'x'.repeat(100)), { root, userId });
    await makeSocketDir(long, { root, userId });
    await makeSocketDir(long, { root, userId });
    await mkdir(join(root, `coppice-${userId + 1}`), { mode: 0o700 });
    const others = { root, userId: userId + 1 };
    await assert.rejects(
      makeSocketDir(guestFiles(join(root, 'x'.repeat(100)), others), others),
      /is not a folder of user/,
    );
  });
});
