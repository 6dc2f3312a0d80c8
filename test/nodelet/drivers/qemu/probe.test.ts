import assert from 'node:assert/strict';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findQemu } from '../../../../nodelet/drivers/qemu/installation.ts';
import { type AcceleratorOption, bootSector, chooseAccelerator } from '../../../../nodelet/drivers/qemu/probe.ts';
import { systemClock } from '../../../../resources/ambient/system-clock.ts';

const { signal } = new AbortController();

describe('the accelerator probe', () => {
  let root: string;
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'coppice-probe-'));
    await writeFile(join(root, 'kvm'), '');
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  /** A QEMU that notes each boot, then does as the script says. */
  const fakeQemu = async (script: string, version = '7.2.22') => {
    const path = join(root, 'qemu');
    const said = `case "$1" in --version) echo "QEMU emulator version ${version} (Debian)"; exit 0;; esac`;
    await writeFile(path, `#!/bin/sh\n${said}\necho boot >> ${root}/boots\n${script}\n`);
    await chmod(path, 0o755);
    return path;
  };
  const choose = async (
    binary: string,
    changes: { bootId?: string; option?: AcceleratorOption; kvmDevice?: string } = {},
  ) => {
    const qemu = await findQemu('x86_64', { clock: systemClock, binary }, signal);
    const { bootId = 'boot-1', option = 'auto', kvmDevice = join(root, 'kvm') } = changes;
    return await chooseAccelerator(
      { option, qemu, bootId, cacheFile: join(root, 'accelerator.json'), kvmDevice, clock: systemClock },
      signal,
    );
  };
  const boots = async () => (await readFile(join(root, 'boots'), 'utf8').catch(() => '')).split('\n').length - 1;

  it('takes KVM when the sector ran, and does not ask again', async () => {
    const binary = await fakeQemu('exit 85');
    assert.deepEqual(await choose(binary), { kind: 'kvm' });
    assert.deepEqual(await choose(binary), { kind: 'kvm' });
    assert.equal(await boots(), 1);
  });

  it('asks again after a reboot and with another QEMU, and when what it kept is torn', async () => {
    const binary = await fakeQemu('exit 85');
    await choose(binary);
    await choose(binary, { bootId: 'boot-2' });
    assert.equal(await boots(), 2);
    await fakeQemu('exit 85', '9.0.1');
    await choose(binary, { bootId: 'boot-2' });
    assert.equal(await boots(), 3);
    await writeFile(join(root, 'accelerator.json'), '{"schema":1,"boot');
    await choose(binary, { bootId: 'boot-2' });
    assert.equal(await boots(), 4);
  });

  it('takes TCG when QEMU aborts, and says with which words', async () => {
    const binary = await fakeQemu('echo "error: failed to set MSR 0x10a" >&2; kill -ABRT $$');
    const answer = await choose(binary);
    assert.equal(answer.kind, 'tcg');
    assert.equal(answer.note, 'KVM failed a test boot (SIGABRT: error: failed to set MSR 0x10a)');
  });

  it('takes TCG when the sector does not run in time, and ends the probe', async () => {
    const binary = await fakeQemu('exec sleep 60');
    assert.deepEqual(await choose(binary), { kind: 'tcg', note: 'KVM did not run one sector within 2 s' });
  });

  it('takes TCG for any other exit', async () => {
    const answer = await choose(await fakeQemu('exit 1'));
    assert.deepEqual(answer, { kind: 'tcg', note: 'KVM failed a test boot (exit code 1)' });
  });

  it('does not probe where there is no KVM, or when told which to take', async () => {
    const binary = await fakeQemu('exit 85');
    assert.deepEqual(await choose(binary, { kvmDevice: '/nonexistent' }), {
      kind: 'tcg',
      note: 'there is no /nonexistent',
    });
    assert.deepEqual(await choose(binary, { option: 'tcg' }), { kind: 'tcg', note: 'TCG was asked for' });
    assert.deepEqual(await choose(binary, { option: 'kvm' }), { kind: 'kvm' });
    assert.equal(await boots(), 0);
  });

  it('boots a sector that a BIOS takes for bootable', () => {
    const sector = bootSector();
    assert.equal(sector.length, 512);
    assert.deepEqual([...sector.subarray(510)], [0x55, 0xaa]);
  });

  it('knows the machine type of a QEMU, and says what to install without one', async () => {
    const machine = async (version: string) =>
      (await findQemu('x86_64', { clock: systemClock, binary: await fakeQemu('exit 0', version) }, signal)).machine;
    assert.equal(await machine('7.2.22'), 'pc-q35-7.2');
    assert.equal(await machine('8.1.50'), 'pc-q35-8.2');
    assert.equal(await machine('8.2.90'), 'pc-q35-9.0');
    await assert.rejects(
      findQemu('aarch64', { clock: systemClock, binary: join(root, 'none') }, signal),
      /install QEMU .*qemu-system-arm/,
    );
  });
});
