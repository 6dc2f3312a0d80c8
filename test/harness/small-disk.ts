import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm, rmdir, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const FILE_SYSTEMS = '/sys/fs/ext4';

/** A small file system of its own. Where this user may not mount one, the test is skipped, saying so. Disposing it unmounts and removes it. */
export class SmallDisk implements AsyncDisposable {
  readonly folder: string;
  /** The file that holds it, where there is one. */
  readonly #image: string | undefined;

  private constructor(folder: string, image?: string) {
    this.folder = folder;
    this.#image = image;
  }

  /** In memory: it fills, and that is all it can. */
  static async inMemory(context: Mocha.Context, bytes: number): Promise<SmallDisk> {
    const folder = await mkdtemp(join(tmpdir(), 'coppice-disk-'));
    return mounted(context, new SmallDisk(folder), ['-t', 'tmpfs', '-o', `size=${bytes}`, 'coppice-test', folder]);
  }

  /** An ext4 in a file, which can be made to fail. */
  static async onLoop(context: Mocha.Context, bytes: number): Promise<SmallDisk> {
    const folder = await mkdtemp(join(tmpdir(), 'coppice-disk-'));
    const image = `${folder}.img`;
    await writeFile(image, '');
    await truncate(image, bytes);
    await run('mkfs.ext4', ['-q', image]).catch(() => {});
    return mounted(context, new SmallDisk(folder, image), loop(image, folder));
  }

  /** Makes it find itself damaged: it takes no more writes, as after an error of the device below it. */
  async fail(): Promise<void> {
    const { stdout } = await run('findmnt', ['-n', '-o', 'SOURCE', this.folder]);
    await writeFile(join(FILE_SYSTEMS, basename(stdout.trim()), 'trigger_fs_error'), '1');
  }

  /** Repaired, and mounted anew. */
  async again(): Promise<void> {
    if (this.#image === undefined) throw new Error('a disk in memory cannot be repaired');
    await run('umount', [this.folder]);
    // It answers 1 where it has repaired something.
    await run('fsck.ext4', ['-fy', this.#image]).catch(() => {});
    await run('mount', loop(this.#image, this.folder));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await run('umount', [this.folder]);
    await this.remove();
  }

  async remove(): Promise<void> {
    await rmdir(this.folder);
    if (this.#image !== undefined) await rm(this.#image);
  }
}

const loop = (image: string, folder: string) => ['-t', 'ext4', '-o', 'loop,errors=remount-ro', image, folder];

async function mounted(context: Mocha.Context, disk: SmallDisk, args: readonly string[]): Promise<SmallDisk> {
  try {
    if (process.platform !== 'linux') throw new Error('this is no Linux');
    await run('mount', args);
    if (args.includes('ext4') && !(await canFail())) {
      await disk[Symbol.asyncDispose]();
      throw new Error('this kernel lets nobody make a file system fail');
    }
    return disk;
  } catch (error) {
    if (existsSync(disk.folder)) await disk.remove();
    const why = error instanceof Error ? error.message.split('\n')[0] : String(error);
    process.stdout.write(`      skipped: no small file system can be mounted: ${why}\n`);
    return context.skip();
  }
}

async function canFail(): Promise<boolean> {
  const found = await readdir(FILE_SYSTEMS).catch(() => []);
  return found.some((name) => existsSync(join(FILE_SYSTEMS, name, 'trigger_fs_error')));
}
