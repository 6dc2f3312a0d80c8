import assert from 'node:assert/strict';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { ApiClient } from '../../apiserver/client/client.ts';
import type { ImageFacts } from '../../nodelet/drivers/driver.ts';
import { Semaphore } from '../../nodelet/drivers/semaphore.ts';
import { SerialDriver } from '../../nodelet/drivers/serial-driver.ts';
import { SimDriver, type SimDriverOptions } from '../../nodelet/drivers/sim/sim-driver.ts';
import type { SimGuest } from '../../nodelet/drivers/sim/sim-guests-file.ts';
import { type RunningNodelet, runNodelet } from '../../nodelet/run-nodelet.ts';
import { silentLogger } from '../../resources/ambient/log.ts';
import { ManualClock } from '../../resources/ambient/manual-clock.ts';
import { systemClock } from '../../resources/ambient/system-clock.ts';
import { GUEST_FINALIZER } from '../../resources/guards/vm-admission.ts';
import type { Host } from '../../resources/kinds/host.ts';
import type { VM } from '../../resources/kinds/vm.ts';
import { findCondition } from '../../resources/meta/condition.ts';
import { ApiFake } from './api-fake.ts';
import { memorySimHost } from './drivers/sim/memory-sim-host.ts';

const GIB = 1024 ** 3;
const HOST = 'mac-1';

/** Records what the driver is asked to do. */
class WatchedDriver extends SimDriver {
  readonly calls: string[] = [];
  /** Set: no image is found before it resolves. */
  imageGate: Promise<void> | undefined;
  /** Set: a guest is made once it resolves, whatever the caller wants by then. */
  createGate: Promise<void> | undefined;
  /** Guests whose start or stop the last process left half done: they stay so until it is done again. */
  readonly #halfDone: Map<string, 'Starting' | 'Stopping'>;

  constructor(options: SimDriverOptions, halfDone: Map<string, 'Starting' | 'Stopping'>) {
    super(options);
    this.#halfDone = halfDone;
  }

  override async list(signal: AbortSignal) {
    const guests = await super.list(signal);
    return guests.map((guest) => ({ ...guest, power: this.#halfDone.get(guest.id) ?? guest.power }));
  }

  override async create(...args: Parameters<SimDriver['create']>) {
    this.calls.push(`create ${args[0].id}`);
    await this.createGate;
    await super.create(args[0], this.createGate === undefined ? args[1] : new AbortController().signal);
  }

  override start(...args: Parameters<SimDriver['start']>) {
    this.calls.push(`start ${args[0]}`);
    this.#halfDone.delete(args[0]);
    return super.start(...args);
  }

  override stop(...args: Parameters<SimDriver['stop']>) {
    this.calls.push(`stop ${args[0]}`);
    this.#halfDone.delete(args[0]);
    return super.stop(...args);
  }

  override remove(...args: Parameters<SimDriver['remove']>) {
    this.calls.push(`remove ${args[0]}`);
    return super.remove(...args);
  }

  /** What every path is here, missing ones too. */
  async facts(path: string): Promise<ImageFacts> {
    return (await super.image(path)) ?? assert.fail('a simulated host has every image');
  }

  override async image(path: string) {
    await this.imageGate;
    return path.startsWith('missing') ? undefined : super.image(path);
  }
}

/** One simulated host with its nodelet and a server, on a clock of their own. */
export class NodeletWorld implements AsyncDisposable {
  readonly clock = new ManualClock();
  readonly api = new ApiFake(this.clock);
  /** What is on the host's disk: it outlives drivers and nodelets. */
  readonly guests = new Map<string, SimGuest>();
  /** The bytes of files of volumes, by id. */
  readonly volumes = new Map<string, number>();
  readonly halfDone = new Map<string, 'Starting' | 'Stopping'>();
  readonly root: string;
  driver: WatchedDriver;
  nodelet: RunningNodelet | undefined;
  readonly #serials: SerialDriver[] = [];
  #ending = new AbortController();

  private constructor(root: string) {
    this.root = root;
    this.driver = this.#openDriver();
  }

  static async make(): Promise<NodeletWorld> {
    const world = new NodeletWorld(await mkdtemp(join(tmpdir(), 'coppice-nodelet-')));
    world.anImage('tiny');
    return world;
  }

  async start(imageGate?: Promise<void>): Promise<void> {
    this.driver = this.#openDriver();
    this.driver.imageGate = imageGate;
    this.#ending = new AbortController();
    const serial = new SerialDriver(this.driver, { clock: this.clock, coldStarts: new Semaphore(2) });
    this.#serials.push(serial);
    this.nodelet = runNodelet(
      {
        name: HOST,
        driver: serial,
        client: new ApiClient(this.api.transport),
        clock: this.clock,
        random: () => 0.5,
        log: silentLogger,
        root: this.root,
        storeIdentity: async () => ({ uid: this.api.storeUID, revision: this.api.revision }),
      },
      this.#ending.signal,
    );
    // A nodelet that fails fails the test that waits for it.
    this.nodelet.done.catch(() => {});
  }

  /** Ends the nodelet and its driver; guests stay. */
  async stop(): Promise<void> {
    this.#ending.abort();
    await this.nodelet?.done;
    this.nodelet = undefined;
    for (const serial of this.#serials.splice(0)) await serial[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await rm(this.root, { recursive: true, force: true });
  }

  /** Lets time pass until the answer is there; at most five seconds of real time. */
  async until<T>(what: string, ask: () => T | undefined | false): Promise<T> {
    const end = systemClock.monotonic() + 5_000;
    for (;;) {
      const answer = ask();
      if (answer !== undefined && answer !== false) return answer;
      assert.ok(
        systemClock.monotonic() < end,
        `not within 5 s: ${what}\n${JSON.stringify([...this.api.objects.values()], null, 1)}`,
      );
      await this.pass(20);
    }
  }

  /** Lets `ms` milliseconds pass, and what is due happen. */
  async pass(ms: number): Promise<void> {
    await this.clock.advance(ms);
    await setImmediate();
  }

  /** Passes a minute in small steps: long enough for anything that wanted to happen, files included. */
  async quiet(): Promise<void> {
    for (let i = 0; i < 120; i++) {
      await this.pass(500);
      await stat(this.root);
    }
  }

  anImage(name: string, guestOS: 'linux' | 'macos' = 'linux', path = name): void {
    this.api.put('images', {
      apiVersion: 'coppice.dev/v1',
      kind: 'Image',
      metadata: this.#metadata(name),
      spec: { guestOS, source: { path } },
    });
  }

  /** A VM as admission and placement leave it: bound here. */
  async aVM(name: string, spec: Partial<VM['spec']> = {}): Promise<VM> {
    const image = spec.image ?? 'tiny';
    const digest = (await this.driver.facts(image)).digest;
    const uid = `uid-${name}`;
    const vm: VM = {
      apiVersion: 'coppice.dev/v1',
      kind: 'VM',
      metadata: { ...this.#metadata(name), uid, namespace: 'demo', finalizers: [GUEST_FINALIZER] },
      spec: {
        image,
        class: 'flex',
        power: 'Running',
        hostName: HOST,
        epoch: 1,
        guestID: uid,
        resolved: { digest, guestOS: 'linux', vcpus: 2, memory: '1Gi' },
        ...spec,
      },
    };
    return this.api.put('vms', vm) as VM;
  }

  vm(name: string): VM | undefined {
    return this.api.get<VM>(`vms/demo/${name}`);
  }

  host(): Host | undefined {
    return this.api.get<Host>(`hosts/${HOST}`);
  }

  /** Changes a VM's spec, as a user would. */
  set(name: string, spec: Partial<VM['spec']>): void {
    this.api.change('vms', `demo/${name}`, (object) => {
      const vm = object as VM;
      return { ...vm, spec: { ...vm.spec, ...spec } };
    });
  }

  /** The reason of Ready. */
  reason(name: string): string | undefined {
    const vm = this.vm(name);
    return vm && findCondition(vm, 'Ready')?.reason;
  }

  isReady(name: string): boolean {
    const vm = this.vm(name);
    return vm !== undefined && findCondition(vm, 'Ready')?.status === 'True';
  }

  /** A VM that runs here, on a nodelet that has told of its host. */
  async running(name: string, spec: Partial<VM['spec']> = {}): Promise<VM> {
    await this.aVM(name, spec);
    if (this.nodelet === undefined) await this.start();
    await this.until('the host is told of', () => this.host()?.status?.capacity);
    return this.untilReady(name);
  }

  async untilReady(name: string): Promise<VM> {
    return this.until(`${name} is ready`, () => this.isReady(name) && this.vm(name));
  }

  async untilPhase(name: string, phase: string, reason?: string): Promise<VM> {
    return this.until(`${name} is ${phase} ${reason ?? ''}`, () => {
      const vm = this.vm(name);
      return vm?.status?.phase === phase && (reason === undefined || this.reason(name) === reason) && vm;
    });
  }

  async crash(name: string): Promise<void> {
    await this.driver.inject([{ fault: 'CrashedGuest', vms: [`demo/${name}`] }]);
  }

  #openDriver(): WatchedDriver {
    return new WatchedDriver(this.#simOptions(), this.halfDone);
  }

  #simOptions() {
    return {
      host: memorySimHost(this.guests, this.volumes),
      capacity: { vcpus: 8, memoryBytes: 16 * GIB, diskBytes: 256 * GIB },
      clock: this.clock,
    };
  }

  #metadata(name: string) {
    return { name, uid: `uid-${name}`, resourceVersion: '', creationTimestamp: '2026-01-01T00:00:00Z' };
  }
}
