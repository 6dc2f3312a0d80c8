import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../../resources/ambient/clock.ts';
import type { Ids } from '../../../resources/ambient/ids.ts';
import type { Logger } from '../../../resources/ambient/log.ts';
import { withDeadline } from '../../../resources/ambient/with-deadline.ts';
import { connectAgent } from '../../agent/agent-connection.ts';
import { ChangeFeed } from '../change-feed.ts';
import {
  type Driver,
  type DriverCapabilities,
  DriverError,
  type ExecRequest,
  type GuestProcess,
  type GuestSpec,
  type HostCapacity,
  type ImageFacts,
  type LogOptions,
  type ObservedGuest,
  type ObservedVolume,
} from '../driver.ts';
import { orAborted } from '../or-aborted.ts';
import { Semaphore } from '../semaphore.ts';
import { guestArgv } from './argv.ts';
import { takeCare } from './caretaker.ts';
import { clearFolders } from './clear-folders.ts';
import { readConsole } from './console-log.ts';
import { guestFiles, type SocketRoot } from './guest-files.ts';
import { NEVER_STARTED, readRecord, readState, writeRecord } from './guest-record.ts';
import { freeDiskBytes, hostCapacity } from './host-capacity.ts';
import type { HostProcesses } from './host-processes.ts';
import { ImageFolders } from './image-folders.ts';
import { findQemu, type QemuArchitecture, type QemuInstallation } from './installation.ts';
import { kvmNests } from './nested.ts';
import { type Accelerator, type AcceleratorOption, chooseAccelerator } from './probe.ts';
import { type GuestHost, QemuGuest } from './qemu-guest.ts';
import { runTool } from './run-tool.ts';
import { StrayGuests } from './stray-guests.ts';

export interface QemuDriverOptions {
  /** Absolute. Guests are kept in `guests/` below it, the accelerator probe's answer beside them. */
  readonly root: string;
  /** Absolute: what relative image paths are below. */
  readonly imagesRoot: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  readonly processes: HostProcesses;
  readonly sockets: SocketRoot;
  readonly architecture: QemuArchitecture;
  readonly accelerator: AcceleratorOption;
  /** `/dev/kvm`. */
  readonly kvmDevice: string;
  /** Instead of `qemu-system-ARCHITECTURE` and `qemu-img` from the PATH. */
  readonly binary?: string;
  readonly imageTool?: string;
}

/** A guest's folder is named after it, so its id must be a plain name. */
const ID = /^[a-z0-9][a-z0-9-]{0,62}$/;
const UNFINISHED = /\.(creating|removing)$/;
/** How long opening waits for the monitors of adopted guests: until then all that is known of them is that they run. */
const ADOPT_MS = 2000;
const EXEC_MS = 15_000;

/** Guests in QEMU, one process each, that go on without this one. */
export class QemuDriver implements Driver {
  readonly name = 'qemu';
  readonly capabilities: DriverCapabilities;
  readonly #options: QemuDriverOptions;
  readonly #qemu: QemuInstallation;
  readonly #accelerator: Accelerator;
  readonly #guests = new Map<string, QemuGuest>();
  readonly #strays: StrayGuests;
  readonly #images: ImageFolders;
  /** Held while folders and `#guests` are brought in line, so that a scan does not take in a guest that is just being made or removed. */
  readonly #folders = new Semaphore(1);
  /** Folders that are no guests, already reported. */
  readonly #strangers = new Set<string>();
  readonly #feed = new ChangeFeed();
  readonly #closing = new AbortController();
  readonly #guestHost: GuestHost;
  readonly #capacity: HostCapacity;
  #care: Promise<void> = Promise.resolve();

  private constructor(
    options: QemuDriverOptions,
    qemu: QemuInstallation,
    accelerator: Accelerator,
    capacity: HostCapacity,
    nested: boolean,
  ) {
    this.#options = options;
    this.#qemu = qemu;
    this.#accelerator = accelerator;
    this.#capacity = capacity;
    this.#images = new ImageFolders(options.imagesRoot);
    this.capabilities = {
      version: `QEMU ${qemu.version}`,
      accelerator: accelerator.kind,
      ...(accelerator.note === undefined ? {} : { acceleratorNote: accelerator.note }),
      guestOS: ['linux'],
      nested,
      pause: true,
      exec: true,
    };
    const { clock, ids, log, processes, sockets } = options;
    this.#guestHost = {
      ...{ clock, log, processes, sockets, binary: qemu.binary },
      connectAgent: (socketPath, signal) => connectAgent({ socketPath, clock, ids }, signal),
      changed: (id) => this.#feed.emit(id),
    };
    this.#strays = new StrayGuests(join(options.root, 'guests'), this.#guestHost);
  }

  /** Finds QEMU and what it can do here, and adopts the guests that run. Throws, saying what to install, when there is no QEMU. */
  static async open(options: QemuDriverOptions, signal: AbortSignal): Promise<QemuDriver> {
    await mkdir(join(options.root, 'guests'), { recursive: true, mode: 0o700 });
    const { clock, binary, accelerator: option, kvmDevice, root } = options;
    const qemu = await findQemu(options.architecture, { clock, ...(binary === undefined ? {} : { binary }) }, signal);
    const bootId = await options.processes.bootId();
    const cacheFile = join(root, 'accelerator.json');
    const accelerator = await chooseAccelerator({ option, qemu, bootId, cacheFile, kvmDevice, clock }, signal);
    const nested = accelerator.kind === 'kvm' && (await kvmNests());
    const driver = new QemuDriver(options, qemu, accelerator, await hostCapacity(join(root, 'guests')), nested);
    await driver.#adoptAll(signal);
    driver.#care = takeCare(() => driver.#guests.values(), clock, options.log, driver.#closing.signal);
    return driver;
  }

  async capacity(): Promise<HostCapacity> {
    return this.#capacity;
  }

  async list(signal: AbortSignal): Promise<readonly ObservedGuest[]> {
    await this.#scan(signal);
    return [...[...this.#guests.values()].map((guest) => guest.observe()), ...this.#strays.list()];
  }

  /** QEMU runs no macOS. */
  async leakedSlots(): Promise<number> {
    return 0;
  }

  changes(signal: AbortSignal): AsyncIterable<string> {
    return this.#feed.read(signal);
  }

  async create(spec: GuestSpec, signal: AbortSignal): Promise<void> {
    if (!ID.test(spec.id))
      throw new DriverError(
        'Invalid',
        `guest id ${JSON.stringify(spec.id)} is not a lowercase name of letters, digits and dashes`,
      );
    const present = this.#guests.get(spec.id);
    if (present !== undefined) {
      await present.keepEpoch(spec.epoch);
      return;
    }
    this.#strays.refuse(spec.id);
    if ((spec.volumes ?? []).length > 0) throw noVolumes();
    if (spec.guestOS !== 'linux')
      throw new DriverError('Unsupported', `QEMU here runs linux guests, not ${spec.guestOS}`);
    const image = await this.#images.open(spec.image, signal);
    const free = await freeDiskBytes(this.#options.root);
    if (spec.diskBytes > free)
      throw new DriverError('NoSpace', `needs ${spec.diskBytes} bytes of disk; ${free} are free`);
    await this.#makeFolder(spec, image.manifest.agent, signal);
    this.#feed.emit(spec.id);
  }

  async start(id: string, signal: AbortSignal): Promise<void> {
    const guest = this.#find(id);
    if (guest.process === undefined) this.#refuseTooMuch(guest.spec);
    const image = await this.#images.open(guest.spec.image, signal);
    const { kernel, initrd } = image;
    const { architecture, machine } = this.#qemu;
    const argv = guestArgv(guest.spec, {
      ...{ architecture, machine, accelerator: this.#accelerator.kind, files: guest.files },
      image: { kernel, initrd, kernelArguments: image.manifest.kernelArguments },
    });
    await guest.start(argv, signal);
  }

  async stop(id: string, options: { readonly graceMs: number }, signal: AbortSignal): Promise<void> {
    await this.#find(id).stop(options.graceMs, signal);
  }

  async pause(id: string, signal: AbortSignal): Promise<void> {
    await this.#find(id).pause(signal);
  }

  async resume(id: string, signal: AbortSignal): Promise<void> {
    await this.#find(id).resume(signal);
  }

  async remove(id: string, signal: AbortSignal): Promise<void> {
    const guest = this.#guests.get(id);
    if (guest === undefined) return await this.#strays.remove(id, signal);
    await guest.stop(0, signal);
    using _ = await this.#folders.acquire(signal);
    await guest.delete();
    this.#guests.delete(id);
  }

  async clear(signal: AbortSignal): Promise<number> {
    await this.#scan(signal);
    using _ = await this.#folders.acquire(signal);
    // What runs in a folder that is about to go would never be found by it again.
    await this.#strays.scan((id) => this.#guests.has(id), 'now');
    const guests = this.#guests.size + this.#strays.list().length;
    if (guests > 0) throw new DriverError('Failed', `there are ${guests} guests on this host`);
    this.#strangers.clear();
    return await clearFolders(join(this.#options.root, 'guests'), this.#options.sockets, signal);
  }

  async volumes(): Promise<readonly ObservedVolume[]> {
    return [];
  }

  async keepVolume(): Promise<void> {
    throw noVolumes();
  }

  async removeVolume(): Promise<void> {
    throw noVolumes();
  }

  async exec(id: string, request: ExecRequest, signal: AbortSignal): Promise<GuestProcess> {
    const guest = this.#find(id);
    const { power, label, agentReady } = guest.observe();
    if (power !== 'Running') throw new DriverError('NotRunning', `guest ${label} is ${power}`);
    const agent = guest.process?.agent;
    if (agent !== undefined) return await this.#begun(label, (s) => agent.exec(request, s), signal);
    const why = agentReady === undefined ? 'its image has no guest agent' : 'its guest agent does not answer';
    throw new DriverError('AgentUnavailable', `guest ${label}: ${why}`);
  }

  async *logs(id: string, options: LogOptions, signal: AbortSignal): AsyncGenerator<Uint8Array, void, undefined> {
    yield* readConsole(
      this.#find(id).files,
      options,
      this.#options.clock,
      AbortSignal.any([signal, this.#closing.signal]),
    );
  }

  image(path: string, signal: AbortSignal): Promise<ImageFacts | undefined> {
    return this.#images.facts(path, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new DriverError('Failed', 'the qemu driver is closed'));
    this.#feed.close();
    await this.#care;
    await Promise.all([...this.#guests.values()].map((guest) => guest.detach()));
  }

  /** A guest that hangs starts no command: who waits for one is told so. The signal handed on stays the command's own once it runs. */
  async #begun<T>(label: string, begin: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    const late = new AbortController();
    const cancel = this.#options.clock.after(EXEC_MS, () => {
      const why = `its guest agent began no command within ${EXEC_MS / 1000} s`;
      late.abort(new DriverError('AgentUnavailable', `guest ${label}: ${why}`));
    });
    try {
      return await begin(AbortSignal.any([signal, late.signal]));
    } finally {
      cancel();
    }
  }

  #find(id: string): QemuGuest {
    const guest = this.#guests.get(id);
    if (guest === undefined) this.#strays.refuse(id);
    if (guest === undefined) throw new DriverError('NoSuchGuest', `there is no guest ${id} on this host`);
    return guest;
  }

  /** The kernel would let guests promise themselves more memory than there is, and kill one later. */
  #refuseTooMuch(spec: GuestSpec): void {
    let taken = 0;
    for (const guest of this.#guests.values()) if (guest.process !== undefined) taken += guest.spec.memoryBytes;
    for (const guest of this.#strays.list()) taken += guest.memoryBytes;
    const { memoryBytes } = this.#capacity;
    if (taken + spec.memoryBytes <= memoryBytes) return;
    const free = memoryBytes - taken;
    throw new DriverError('Failed', `needs ${spec.memoryBytes} bytes of memory; ${free} of ${memoryBytes} are free`);
  }

  /** All or nothing: the folder gets its name when everything is in it. */
  async #makeFolder(spec: GuestSpec, agent: boolean, signal: AbortSignal): Promise<void> {
    const dir = this.#dirOf(spec.id);
    const building = guestFiles(`${dir}.creating`, this.#options.sockets);
    await rm(building.dir, { recursive: true, force: true });
    await mkdir(building.dir, { mode: 0o700 });
    try {
      await writeFile(building.console, '', { mode: 0o600 });
      if (spec.diskBytes > 0) await this.#makeDisk(building.disk, spec.diskBytes, signal);
      const record = { schema: 1 as const, spec: { ...spec }, agent };
      await writeRecord(building, record);
      using _ = await this.#folders.acquire(signal);
      await rename(building.dir, dir);
      const files = guestFiles(dir, this.#options.sockets);
      this.#guests.set(spec.id, new QemuGuest(files, record, NEVER_STARTED, this.#guestHost));
    } catch (cause) {
      await rm(building.dir, { recursive: true, force: true });
      const full = cause instanceof Error && 'code' in cause && cause.code === 'ENOSPC';
      throw full ? new DriverError('NoSpace', `the disk of the host is full: ${dir}`, { cause }) : cause;
    }
  }

  async #makeDisk(path: string, bytes: number, signal: AbortSignal): Promise<void> {
    const tool = this.#options.imageTool ?? 'qemu-img';
    const args = ['create', '-q', '-f', 'qcow2', path, String(bytes)];
    const run = await runTool(tool, args, { clock: this.#options.clock, timeoutMs: 60_000 }, signal).catch((cause) => {
      signal.throwIfAborted();
      throw new DriverError('Failed', `cannot run ${tool}; install it (Debian: package qemu-utils)`, { cause });
    });
    if (run.code === 0) return;
    const reason = /No space left/.test(run.stderr) ? 'NoSpace' : 'Failed';
    throw new DriverError(reason, `${tool} made no disk of ${bytes} bytes: ${run.stderr.trim().slice(-300)}`);
  }

  async #adoptAll(signal: AbortSignal): Promise<void> {
    const dir = join(this.#options.root, 'guests');
    for (const name of await readdir(dir)) {
      // Rubbish of a create or remove that was cut off; no process was ever started in one of these.
      if (UNFINISHED.test(name)) await rm(join(dir, name), { recursive: true, force: true });
    }
    await this.#scan(signal);
    await Promise.all(
      [...this.#guests.values()].map(async ({ process, spec }) => {
        if (process === undefined) return;
        this.#options.log.info('guest adopted', { guest: spec.id, pid: process.pid });
        await withDeadline(this.#options.clock, ADOPT_MS, signal, (s) => orAborted(process.ready, s)).catch(() =>
          signal.throwIfAborted(),
        );
      }),
    );
  }

  /** Takes in guests whose folders are there and forgets those whose folders are gone. */
  async #scan(signal: AbortSignal): Promise<void> {
    using _ = await this.#folders.acquire(signal);
    const dir = join(this.#options.root, 'guests');
    const names = new Set((await readdir(dir)).filter((name) => !UNFINISHED.test(name)));
    for (const name of names) if (!this.#guests.has(name)) await this.#take(name);
    for (const [id, guest] of this.#guests) {
      if (names.has(id) || guest.process !== undefined) continue;
      this.#guests.delete(id);
      this.#feed.emit(id);
    }
    await this.#strays.scan((id) => this.#guests.has(id));
  }

  async #take(name: string): Promise<void> {
    const files = guestFiles(this.#dirOf(name), this.#options.sockets);
    const record = await readRecord(files);
    if (record === undefined || record.spec.id !== name) {
      if (!this.#strangers.has(name))
        this.#options.log.error('folder without a guest left alone', { folder: files.dir });
      this.#strangers.add(name);
      return;
    }
    const guest = new QemuGuest(files, record, await readState(files), this.#guestHost);
    await guest.adopt();
    this.#guests.set(name, guest);
  }

  #dirOf(id: string): string {
    return join(this.#options.root, 'guests', id);
  }
}

function noVolumes(): DriverError {
  return new DriverError('Unsupported', 'driver qemu attaches no volumes');
}
