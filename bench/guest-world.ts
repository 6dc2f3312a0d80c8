import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, rm, writeFile } from 'node:fs/promises';
import { arch, tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AgentConnection, connectAgent } from '../nodelet/agent/agent-connection.ts';
import type { GuestSpec } from '../nodelet/drivers/driver.ts';
import { guestArgv } from '../nodelet/drivers/qemu/argv.ts';
import { guestFiles } from '../nodelet/drivers/qemu/guest-files.ts';
import { findQemu, type QemuInstallation } from '../nodelet/drivers/qemu/installation.ts';
import { buildTinyLinux } from '../nodelet/images/build-tiny-linux.ts';
import { type BenchWorld, NotMeasured } from './goal.ts';

export const ARCHITECTURE = arch() === 'arm64' ? 'aarch64' : 'x86_64';
export const SOCKETS = { root: tmpdir(), userId: process.getuid?.() ?? 0 };

/** The image and the QEMU that guests are started from, with and without us. */
export class GuestWorld {
  readonly #world: BenchWorld;
  readonly #qemu: QemuInstallation;
  readonly #image: Awaited<ReturnType<typeof buildTinyLinux>>;
  readonly imagesRoot: string;
  #bares = 0;

  private constructor(
    world: BenchWorld,
    qemu: QemuInstallation,
    image: Awaited<ReturnType<typeof buildTinyLinux>>,
    imagesRoot: string,
  ) {
    this.#world = world;
    this.#qemu = qemu;
    this.#image = image;
    this.imagesRoot = imagesRoot;
  }

  static async open(world: BenchWorld): Promise<GuestWorld> {
    const { clock, packageRoot, signal } = world;
    const cache = join(packageRoot, 'node_modules/.cache/coppice');
    const imagesRoot = join(cache, 'images');
    const options = { outDir: join(imagesRoot, 'tiny-linux'), cacheDir: join(cache, 'packages'), packageRoot };
    try {
      const qemu = await findQemu(ARCHITECTURE, { clock }, signal);
      return new GuestWorld(world, qemu, await buildTinyLinux({ ...options, report: () => {} }, signal), imagesRoot);
    } catch (error) {
      throw new NotMeasured(error instanceof Error ? error.message : String(error), { cause: error });
    }
  }

  /** A home of `coppice up` with the image in it, so that no start builds one. */
  async makeHome(name: string): Promise<void> {
    const images = join(this.#world.folder, name, 'images');
    await mkdir(images, { recursive: true, mode: 0o700 });
    await cp(join(this.imagesRoot, 'tiny-linux'), join(images, 'tiny-linux'), { recursive: true });
  }

  guest(id: string): GuestSpec {
    return {
      id,
      label: `bench/${id}`,
      hostname: id,
      guestOS: 'linux',
      image: { path: 'tiny-linux', digest: this.#image.facts.digest },
      vcpus: 1,
      memoryBytes: 128 * 1024 ** 2,
      diskBytes: 0,
      epoch: 1,
    };
  }

  /** The control: the same command line started by hand, to the agent's first answer. */
  async timeBareStart(): Promise<number> {
    const began = this.#world.clock.monotonic();
    await using _guest = await this.startBare();
    return this.#world.clock.monotonic() - began;
  }

  /** A guest without us: QEMU, and its agent. Disposing it kills it. */
  async startBare(): Promise<AsyncDisposable & { readonly agent: AgentConnection }> {
    const { clock, ids, folder, signal } = this.#world;
    const id = `bare-${this.#bares++}`;
    const files = guestFiles(join(folder, 'bare', id), SOCKETS);
    const { kernel, initrd, kernelArguments } = this.#image.manifest;
    const inImage = (name: string) => join(this.imagesRoot, 'tiny-linux', name);
    const image = { kernel: inImage(kernel), initrd: inImage(initrd), kernelArguments };
    const argv = guestArgv(this.guest(id), { ...this.#qemu, accelerator: 'tcg', files, image });
    await mkdir(files.dir, { recursive: true });
    await writeFile(files.console, '');
    // `-S` would leave it waiting for a monitor's word.
    const words = argv.filter((word) => word !== '-S');
    const child = spawn(this.#qemu.binary, words, { stdio: 'ignore' });
    const exited = once(child, 'exit');
    const agent = await connectAgent({ socketPath: files.agentSocket, clock, ids }, signal);
    return {
      agent,
      async [Symbol.asyncDispose]() {
        await agent[Symbol.asyncDispose]();
        child.kill('SIGKILL');
        await exited;
        await rm(files.dir, { recursive: true, force: true });
      },
    };
  }
}
