import assert from 'node:assert/strict';
import type { GuestSpec } from '../../../../nodelet/drivers/driver.ts';
import { guestArgv, type LaunchFacts } from '../../../../nodelet/drivers/qemu/argv.ts';
import { guestFiles } from '../../../../nodelet/drivers/qemu/guest-files.ts';

const MIB = 1024 ** 2;
const sockets = { root: '/tmp', userId: 501 };

const spec: GuestSpec = {
  id: 'b7f1',
  label: 'demo/hello',
  hostname: 'hello',
  guestOS: 'linux',
  image: { path: 'tiny-linux', digest: 'sha256:0' },
  vcpus: 2,
  memoryBytes: 128 * MIB,
  diskBytes: 0,
  epoch: 1,
};
const facts: LaunchFacts = {
  architecture: 'x86_64',
  machine: 'pc-q35-7.2',
  accelerator: 'tcg',
  files: guestFiles('/home/me/.coppice/guests/b7f1', sockets),
  image: { kernel: '/images/tiny/vmlinux', initrd: '/images/tiny/initrd', kernelArguments: 'console=ttyS0 quiet' },
};
const valuesOf = (argv: readonly string[], flag: string) =>
  argv.flatMap((word, i) => (argv[i - 1] === flag ? [word] : []));

describe('the command line of a guest', () => {
  it('is this one, for a small guest under TCG', () => {
    assert.deepEqual(guestArgv(spec, facts), [
      ...['-name', 'guest=demo/hello,debug-threads=on', '-nodefaults', '-no-user-config', '-display', 'none'],
      ...['-machine', 'pc-q35-7.2', '-accel', 'tcg,tb-size=32', '-cpu', 'qemu64,+rdrand', '-m', '128M', '-smp', '2'],
      ...['-kernel', '/images/tiny/vmlinux', '-initrd', '/images/tiny/initrd'],
      ...['-append', 'console=ttyS0 quiet coppice.hostname=hello'],
      ...[
        '-chardev',
        'socket,id=qmp,path=/home/me/.coppice/guests/b7f1/qmp.sock,server=on,wait=off',
        '-mon',
        'chardev=qmp,mode=control',
      ],
      ...['-chardev', 'file,id=con,path=/home/me/.coppice/guests/b7f1/console.log,append=on', '-serial', 'chardev:con'],
      ...['-device', 'virtio-serial-pci,id=vs0'],
      ...['-chardev', 'socket,id=agent,path=/home/me/.coppice/guests/b7f1/agent.sock,server=on,wait=off'],
      ...['-device', 'virtserialport,bus=vs0.0,chardev=agent,name=dev.coppice.agent.0'],
      ...['-device', 'pcie-root-port,id=rp0,chassis=1,slot=1', '-device', 'pcie-root-port,id=rp1,chassis=2,slot=2'],
      ...['-device', 'pcie-root-port,id=rp2,chassis=3,slot=3', '-device', 'pcie-root-port,id=rp3,chassis=4,slot=4'],
      ...[
        '-netdev',
        'user,id=n0,restrict=on',
        '-device',
        'virtio-net-pci,netdev=n0,mac=52:54:00:3a:8a:82,id=nic0,romfile=',
      ],
      ...['-device', 'virtio-rng-pci', '-no-reboot', '-no-shutdown'],
      ...['-pidfile', '/home/me/.coppice/guests/b7f1/qemu.pid', '-S'],
    ]);
  });

  it('chooses the CPU together with the accelerator', () => {
    assert.deepEqual(valuesOf(guestArgv(spec, { ...facts, accelerator: 'kvm' }), '-cpu'), ['host']);
    const arm = guestArgv(spec, { ...facts, architecture: 'aarch64', machine: 'virt-9.1' });
    assert.deepEqual(valuesOf(arm, '-cpu'), ['cortex-a72']);
    assert.deepEqual(valuesOf(arm, '-machine'), ['virt-9.1']);
  });

  it('adds a disk when the guest has one', () => {
    const argv = guestArgv({ ...spec, diskBytes: 1 }, facts);
    assert.match(
      valuesOf(argv, '-blockdev').join(),
      /driver=qcow2,.*filename=\/home\/me\/\.coppice\/guests\/b7f1\/disk\.qcow2$/,
    );
    assert.ok(valuesOf(argv, '-device').some((device) => device.startsWith('virtio-blk-pci,drive=root')));
    assert.deepEqual(valuesOf(guestArgv(spec, facts), '-blockdev'), []);
  });

  it('doubles commas inside option values, so that none can smuggle in an option', () => {
    const odd = guestFiles('/srv/a,b', sockets);
    const argv = guestArgv({ ...spec, label: 'x,process=y', diskBytes: 1 }, { ...facts, files: odd });
    assert.deepEqual(valuesOf(argv, '-name'), ['guest=x,,process=y,debug-threads=on']);
    for (const chardev of valuesOf(argv, '-chardev')) assert.match(chardev, /path=\/srv\/a,,b\//);
    assert.match(valuesOf(argv, '-blockdev').join(), /filename=\/srv\/a,,b\//);
    assert.deepEqual(valuesOf(argv, '-pidfile'), ['/srv/a,b/qemu.pid']);
  });

  it('keeps long sockets short, and a path below the home on the command line all the same', () => {
    const home = `/home/${'long/'.repeat(20)}guests/b7f1`;
    const files = guestFiles(home, sockets);
    for (const socket of [files.qmpSocket, files.agentSocket]) {
      assert.ok(Buffer.byteLength(socket) <= 100, socket);
      assert.match(socket, /^\/tmp\/coppice-501\/[0-9a-f]{16}\//);
    }
    assert.notEqual(files.socketDir, guestFiles(`${home}2`, sockets).socketDir);
    assert.ok(guestArgv(spec, { ...facts, files }).includes(`${home}/qemu.pid`));
    assert.equal(guestFiles('/short', sockets).qmpSocket, '/short/qmp.sock');
  });

  it('gives every guest its own network address, the same each time', () => {
    const mac = (id: string) => /mac=([0-9a-f:]{17})/.exec(guestArgv({ ...spec, id }, facts).join(' '))?.[1];
    assert.equal(mac('one'), mac('one'));
    assert.notEqual(mac('one'), mac('two'));
  });
});
