import { constants } from 'node:fs';
import { access, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import Type, { type Static } from 'typebox';
import { Check } from 'typebox/schema';
import type { Clock } from '../../../resources/ambient/clock.ts';
import type { QemuInstallation } from './installation.ts';
import { runTool, type ToolRun } from './run-tool.ts';

export type AcceleratorOption = 'auto' | 'kvm' | 'tcg';

const AcceleratorSchema = Type.Object({
  kind: Type.Union([Type.Literal('kvm'), Type.Literal('tcg')]),
  /** Why it is not the faster one. */
  note: Type.Optional(Type.String()),
});
const CacheSchema = Type.Object({
  schema: Type.Literal(1),
  bootId: Type.String(),
  qemuVersion: Type.String(),
  binary: Type.String(),
  accelerator: AcceleratorSchema,
});

export type Accelerator = Static<typeof AcceleratorSchema>;

interface ProbeOptions {
  readonly option: AcceleratorOption;
  readonly qemu: QemuInstallation;
  /** Changes with each boot of the host: kernel and permissions may be others then. */
  readonly bootId: string;
  /** Where the answer is kept, and the probe's disk beside it. */
  readonly cacheFile: string;
  readonly kvmDevice: string;
  readonly clock: Clock;
}

const TIMEOUT_MS = 2000;
/** `isa-debug-exit` exits with (value << 1) | 1; the sector writes 0x2a. */
const USABLE = 85;

/**
 * Finds whether KVM really runs guests here. That the device opens says little: a nested or emulated KVM aborts QEMU, or crawls. So a guest of one sector
 * is booted, and has two seconds to write to its exit port. The answer is kept until the host reboots or QEMU is another.
 */
export async function chooseAccelerator(options: ProbeOptions, signal: AbortSignal): Promise<Accelerator> {
  if (options.option === 'kvm') return { kind: 'kvm' };
  if (options.option === 'tcg') return { kind: 'tcg', note: 'TCG was asked for' };
  const unreachable = await whyUnreachable(options.kvmDevice);
  // Not kept: the remedy (a module, a group) works without a reboot.
  if (unreachable !== undefined) return { kind: 'tcg', note: unreachable };
  if (options.qemu.architecture !== 'x86_64') {
    return {
      kind: 'tcg',
      note: `there is no KVM probe for ${options.qemu.architecture}; set the accelerator to kvm to use it`,
    };
  }
  const kept = await readCache(options);
  if (kept !== undefined) return kept;
  const accelerator = await probe(options, signal);
  const { bootId, cacheFile } = options;
  const entry = { schema: 1, bootId, qemuVersion: options.qemu.version, binary: options.qemu.binary, accelerator };
  await writeFile(cacheFile, `${JSON.stringify(entry)}\n`, { mode: 0o600 });
  return accelerator;
}

async function whyUnreachable(device: string): Promise<string | undefined> {
  try {
    await access(device, constants.R_OK | constants.W_OK);
    return undefined;
  } catch (error) {
    const denied = error instanceof Error && 'code' in error && (error.code === 'EACCES' || error.code === 'EPERM');
    return denied ? `no permission to open ${device}; add this user to the group kvm` : `there is no ${device}`;
  }
}

async function readCache(options: ProbeOptions): Promise<Accelerator | undefined> {
  const text = await readFile(options.cacheFile, 'utf8').catch(() => '');
  let entry: unknown;
  try {
    entry = JSON.parse(text);
  } catch {
    return undefined; // Absent or torn: probing again is cheap.
  }
  if (!Check(CacheSchema, entry)) return undefined;
  const same =
    entry.bootId === options.bootId &&
    entry.qemuVersion === options.qemu.version &&
    entry.binary === options.qemu.binary;
  return same ? entry.accelerator : undefined;
}

async function probe(options: ProbeOptions, signal: AbortSignal): Promise<Accelerator> {
  const folder = dirname(options.cacheFile);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const disk = join(folder, 'probe.img');
  await writeFile(disk, bootSector(), { mode: 0o600 });
  const run = await runTool(
    options.qemu.binary,
    probeArgv(disk),
    { clock: options.clock, timeoutMs: TIMEOUT_MS, cwd: folder },
    signal,
  );
  if (run.code === USABLE) return { kind: 'kvm' };
  return { kind: 'tcg', note: whyUnusable(run) };
}

function whyUnusable(run: ToolRun): string {
  if (run.timedOut) return `KVM did not run one sector within ${TIMEOUT_MS / 1000} s`;
  const words = run.stderr.trim().split('\n')[0] ?? '';
  const how = run.signal === undefined ? `exit code ${run.code ?? '?'}` : run.signal;
  return `KVM failed a test boot (${how}${words === '' ? '' : `: ${words.slice(0, 200)}`})`;
}

function probeArgv(disk: string): string[] {
  return [
    ...[
      '-nodefaults',
      '-no-user-config',
      '-display',
      'none',
      '-machine',
      'pc',
      '-m',
      '16',
      '-accel',
      'kvm',
      '-cpu',
      'host',
    ],
    ...['-drive', `file=${disk.replaceAll(',', ',,')},format=raw,if=floppy`, '-boot', 'a'],
    ...['-device', 'isa-debug-exit,iobase=0x501,iosize=4', '-serial', 'file:/dev/null'],
  ];
}

/** A boot sector that writes one letter to the serial port, then 0x2a to the exit port, and halts. */
export function bootSector(): Uint8Array {
  const sector = new Uint8Array(512);
  sector.set([
    ...[0xba, 0xf8, 0x03], // mov dx, 0x3f8
    ...[0xb0, 0x58, 0xee], // mov al, 'X'; out dx, al
    ...[0xba, 0x01, 0x05], // mov dx, 0x501
    ...[0xb0, 0x2a, 0xee], // mov al, 0x2a; out dx, al
    ...[0xf4, 0xeb, 0xfd], // hlt, again
  ]);
  sector.set([0x55, 0xaa], 510);
  return sector;
}
