import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseImageManifest } from '../../../nodelet/images/image-manifest.ts';

const QEMU = '/usr/bin/qemu-system-x86_64';

/** Whether a guest can be started here; says aloud why not. */
export function canStartGuest(): boolean {
  if (process.arch === 'x64' && existsSync(QEMU)) return true;
  process.stderr.write(
    `skipped: a guest needs ${QEMU} on x64; run "apt-get install --no-install-recommends qemu-system-x86"\n`,
  );
  return false;
}

/** A guest of the tiny image under emulation, with a network of its own and a disk. */
export class TinyGuest implements AsyncDisposable {
  readonly dir: string;
  readonly #child: ChildProcess;
  /** QEMU's exit code. */
  readonly ended: Promise<number | null>;

  constructor(dir: string, child: ChildProcess) {
    this.dir = dir;
    this.#child = child;
    this.ended = once(child, 'exit').then(() => child.exitCode);
  }

  static async start(imageDir: string, hostname: string, network = 'user,id=n0,restrict=on'): Promise<TinyGuest> {
    const dir = await mkdtemp(join(tmpdir(), 'cpg-'));
    const image = parseImageManifest(await readFile(join(imageDir, 'image.json'), 'utf8'));
    const argv = [
      ...['-nodefaults', '-no-user-config', '-display', 'none', '-no-reboot', '-machine', 'pc-q35-7.2'],
      ...['-accel', 'tcg,tb-size=32', '-cpu', 'qemu64,+rdrand', '-m', '128', '-smp', '1'],
      ...['-kernel', join(imageDir, image.kernel), '-initrd', join(imageDir, image.initrd)],
      ...['-append', `${image.kernelArguments} coppice.hostname=${hostname}`],
      ...['-chardev', `socket,id=qmp,path=${dir}/qmp,server=on,wait=off`, '-mon', 'chardev=qmp,mode=control'],
      ...[
        '-chardev',
        `file,id=con,path=${dir}/console.log,append=on`,
        '-serial',
        'chardev:con',
        '-device',
        'virtio-serial-pci,id=vs0',
      ],
      ...['-chardev', `socket,id=agent,path=${dir}/agent,server=on,wait=off`],
      ...['-device', 'virtserialport,bus=vs0.0,chardev=agent,name=dev.coppice.agent.0'],
      ...['-blockdev', 'driver=null-co,node-name=vol0,size=16777216,read-zeroes=on'],
      ...['-device', 'virtio-blk-pci,drive=vol0,serial=vol-0123456789ab'],
      ...['-netdev', network, '-device', 'virtio-net-pci,netdev=n0,romfile='],
      ...['-device', 'virtio-rng-pci'],
    ];
    const child = spawn(QEMU, argv, { stdio: ['ignore', 'inherit', 'inherit'] });
    await once(child, 'spawn');
    return new TinyGuest(dir, child);
  }

  get agentSocket(): string {
    return join(this.dir, 'agent');
  }

  get qmpSocket(): string {
    return join(this.dir, 'qmp');
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  console(): Promise<string> {
    return readFile(join(this.dir, 'console.log'), 'utf8');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.ended;
    await rm(this.dir, { recursive: true, force: true });
  }
}
