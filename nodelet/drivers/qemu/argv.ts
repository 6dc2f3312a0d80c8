import { createHash } from 'node:crypto';
import type { GuestSpec } from '../driver.ts';
import type { GuestFiles } from './guest-files.ts';
import type { QemuArchitecture } from './installation.ts';

/** What the command line depends on besides the guest itself. */
export interface LaunchFacts {
  readonly architecture: QemuArchitecture;
  /** A versioned machine type, e.g. `pc-q35-7.2`. */
  readonly machine: string;
  readonly accelerator: 'kvm' | 'tcg';
  readonly files: GuestFiles;
  readonly image: {
    /** Absolute paths. */
    readonly kernel: string;
    readonly initrd: string;
    readonly kernelArguments: string;
  };
}

/** Slots for disks plugged in later. They have to be there at boot: the root bus of these machines takes none afterwards. */
const HOTPLUG_PORTS = 4;
const MIB = 1024 ** 2;

/** The arguments QEMU gets for a guest; memory is rounded down to whole MiB. The guest waits, stopped before its first instruction, until it is told to go. */
export function guestArgv(spec: GuestSpec, facts: LaunchFacts): string[] {
  const { files, image } = facts;
  return [
    ...['-name', `guest=${escaped(spec.label)},debug-threads=on`],
    ...['-nodefaults', '-no-user-config', '-display', 'none'],
    ...['-machine', facts.machine, ...processor(facts)],
    ...['-m', `${Math.floor(spec.memoryBytes / MIB)}M`, '-smp', String(spec.vcpus)],
    ...['-kernel', image.kernel, '-initrd', image.initrd],
    ...['-append', `${image.kernelArguments} coppice.hostname=${spec.hostname}`],
    ...[
      '-chardev',
      `socket,id=qmp,path=${escaped(files.qmpSocket)},server=on,wait=off`,
      '-mon',
      'chardev=qmp,mode=control',
    ],
    ...['-chardev', `file,id=con,path=${escaped(files.console)},append=on`, '-serial', 'chardev:con'],
    ...['-device', 'virtio-serial-pci,id=vs0'],
    ...['-chardev', `socket,id=agent,path=${escaped(files.agentSocket)},server=on,wait=off`],
    ...['-device', 'virtserialport,bus=vs0.0,chardev=agent,name=dev.coppice.agent.0'],
    ...hotplugPorts(),
    ...(spec.diskBytes > 0 ? disk(files) : []),
    // Without `restrict` a guest would reach what listens on the host's own loopback.
    ...['-netdev', 'user,id=n0,restrict=on'],
    ...['-device', `virtio-net-pci,netdev=n0,mac=${macAddress(spec.id)},id=nic0,romfile=`],
    ...['-device', 'virtio-rng-pci'],
    // A reboot ends the guest and an end keeps QEMU waiting: so whoever comes later can still ask how it ended.
    ...['-no-reboot', '-no-shutdown'],
    ...['-pidfile', files.pidfile, '-S'],
  ];
}

/** CPU and accelerator go together: `host` is no CPU under TCG. A small translation buffer keeps the cost of a small guest small. */
function processor(facts: LaunchFacts): string[] {
  if (facts.accelerator === 'kvm') return ['-accel', 'kvm', '-cpu', 'host'];
  return ['-accel', 'tcg,tb-size=32', '-cpu', facts.architecture === 'x86_64' ? 'qemu64,+rdrand' : 'cortex-a72'];
}

function hotplugPorts(): string[] {
  return Array.from({ length: HOTPLUG_PORTS }, (_, i) => [
    '-device',
    `pcie-root-port,id=rp${i},chassis=${i + 1},slot=${i + 1}`,
  ]).flat();
}

function disk(files: GuestFiles): string[] {
  return [
    ...['-blockdev', `driver=qcow2,node-name=root,discard=unmap,file.driver=file,file.filename=${escaped(files.disk)}`],
    ...['-device', 'virtio-blk-pci,drive=root,serial=root,id=disk0,werror=enospc,rerror=report'],
  ];
}

/** Always the same for a guest; in the range QEMU's users share. */
function macAddress(id: string): string {
  const bytes = createHash('sha256').update(id).digest();
  return ['52', '54', '00', ...[0, 1, 2].map((i) => (bytes[i] ?? 0).toString(16).padStart(2, '0'))].join(':');
}

/** In QEMU's option lists a comma ends a value unless it is doubled. */
function escaped(value: string): string {
  return value.replaceAll(',', ',,');
}
