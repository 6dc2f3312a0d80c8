import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { arch, tmpdir } from 'node:os';
import { join } from 'node:path';
import { procProcesses } from '../../../../nodelet/drivers/qemu/host-processes.ts';
import { QemuDriver, type QemuDriverOptions } from '../../../../nodelet/drivers/qemu/qemu-driver.ts';
import { silentLogger } from '../../../../resources/ambient/log.ts';
import { systemClock } from '../../../../resources/ambient/system-clock.ts';
import { systemIds } from '../../../../resources/ambient/system-ids.ts';

/** A folder in which tests run real guests. Whatever a test leaves running is killed when it is disposed of. */
export class QemuHost implements AsyncDisposable {
  readonly root: string;
  readonly imagesRoot: string;

  private constructor(root: string, imagesRoot: string) {
    this.root = root;
    this.imagesRoot = imagesRoot;
  }

  static async make(imagesRoot: string): Promise<QemuHost> {
    return new QemuHost(await mkdtemp(join(tmpdir(), 'coppice-qemu-')), imagesRoot);
  }

  open(changes: Partial<QemuDriverOptions> = {}): Promise<QemuDriver> {
    const options: QemuDriverOptions = {
      root: this.root,
      imagesRoot: this.imagesRoot,
      clock: systemClock,
      ids: systemIds,
      log: silentLogger,
      processes: procProcesses('/proc'),
      sockets: { root: tmpdir(), userId: process.getuid?.() ?? 0 },
      architecture: arch() === 'arm64' ? 'aarch64' : 'x86_64',
      accelerator: 'auto',
      kvmDevice: '/dev/kvm',
      ...changes,
    };
    return QemuDriver.open(options, new AbortController().signal);
  }

  /** The pid in a guest's pidfile, if that process is this guest. */
  async pid(id: string): Promise<number | undefined> {
    const pidfile = join(this.root, 'guests', id, 'qemu.pid');
    const pid = Number(await readFile(pidfile, 'utf8').catch(() => ''));
    const argv = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    return pid > 1 && argv.includes(`\0${pidfile}\0`) ? pid : undefined;
  }

  /** Kills the guest's process. */
  async kill(id: string): Promise<void> {
    const pid = await this.pid(id);
    if (pid === undefined) throw new Error(`guest ${id} has no process to kill`);
    process.kill(pid, 'SIGKILL');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const id of await readdir(join(this.root, 'guests')).catch(() => [])) {
      const pid = await this.pid(id);
      if (pid !== undefined) process.kill(pid, 'SIGKILL');
    }
    await rm(this.root, { recursive: true, force: true });
  }
}
