import type { CpioEntry } from './cpio.ts';
import type { KernelModule } from './kernel-modules.ts';

export interface TinyLinuxParts {
  readonly busybox: Uint8Array;
  /** Names busybox answers to. */
  readonly applets: readonly string[];
  readonly modules: readonly KernelModule[];
  readonly agent: Uint8Array;
  readonly init: Uint8Array;
  readonly udhcpc: Uint8Array;
  readonly powerButton: Uint8Array;
}

const FOLDERS = [
  ...[
    'bin',
    'dev',
    'etc',
    'etc/acpi',
    'etc/acpi/PWRF',
    'lib',
    'lib/modules',
    'mnt',
    'proc',
    'root',
    'run',
    'sbin',
    'sys',
    'tmp',
  ],
  ...['usr', 'var', 'var/log'],
];

/** The root file system of the tiny guest, as entries of its initramfs. */
export function tinyLinuxTree(parts: TinyLinuxParts): readonly CpioEntry[] {
  return [
    ...FOLDERS.map((path) => ({ kind: 'directory' as const, path, permissions: path === 'tmp' ? 0o1777 : 0o755 })),
    // There before devtmpfs is, so that what goes wrong early is seen.
    { kind: 'character device', path: 'dev/console', permissions: 0o600, major: 5, minor: 1 },
    ...links(parts.applets),
    program('bin/busybox', parts.busybox),
    program('init', parts.init),
    program('sbin/udhcpc.sh', parts.udhcpc),
    program('sbin/coppice-agent', parts.agent),
    program('etc/acpi/PWRF/00000080', parts.powerButton),
    text('etc/passwd', 'root:x:0:0:root:/root:/bin/sh\n'),
    text('etc/group', 'root:x:0:\n'),
    text('etc/hosts', '127.0.0.1 localhost\n::1 localhost\n'),
    text('etc/modules', parts.modules.map((module) => `${module.name}\n`).join('')),
    ...parts.modules.map((module) => ({
      kind: 'file' as const,
      path: `lib/modules/${module.name}.ko`,
      permissions: 0o644,
      bytes: module.bytes,
    })),
  ];
}

function links(applets: readonly string[]): readonly CpioEntry[] {
  const link = (path: string, target: string) => ({ kind: 'link' as const, path, permissions: 0o777, target });
  return [
    ...applets.filter((name) => name !== 'busybox').map((name) => link(`bin/${name}`, 'busybox')),
    // Scripts name interpreters below /usr.
    link('usr/bin', '../bin'),
    link('usr/sbin', '../sbin'),
    link('var/run', '../run'),
  ];
}

function program(path: string, bytes: Uint8Array): CpioEntry {
  return { kind: 'file', path, permissions: 0o755, bytes };
}

function text(path: string, content: string): CpioEntry {
  return { kind: 'file', path, permissions: 0o644, bytes: Buffer.from(content, 'utf8') };
}
