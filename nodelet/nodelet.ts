import type { IndexView } from '../controllers/runtime/cache.ts';
import { WorkQueue } from '../controllers/runtime/queue.ts';
import { hasReason, orGone } from '../controllers/runtime/write.ts';
import type { Logger } from '../resources/ambient/log.ts';
import { withDeadline } from '../resources/ambient/with-deadline.ts';
import { isLost, isOfAnotherHost } from '../resources/guards/host-lost.ts';
import { holdsNothing } from '../resources/guards/vms-using.ts';
import { Host } from '../resources/kinds/host.ts';
import type { VM } from '../resources/kinds/vm.ts';
import { jsonEqual, objectKey } from '../resources/meta/object.ts';
import type { Driver, HostCapacity, ObservedGuest } from './drivers/driver.ts';
import { GuestOperations } from './guest-operations.ts';
import { GuestRoom } from './guest-room.ts';
import { HeldImages } from './held-images.ts';
import { guestMemoryBytes, type HostReport } from './host-report.ts';
import { HostVolumes } from './host-volumes.ts';
import { Latest } from './latest.ts';
import { guestIDOf } from './plan.ts';
import { type GuestDeps, type Outcome, reconcileGuest } from './reconcile-guest.ts';
import { type HostDeps, reconcileHost } from './reconcile-host.ts';
import { ScrubFile } from './scrub/scrub-file.ts';
import { type FindProcess, ScrubHook } from './scrub/scrub-hook.ts';
import { Scrubber } from './scrub/scrubber.ts';
import { ServerView, type ServerViewOptions } from './server-view.ts';
import type { Standing } from './standing.ts';
import { StoreGuard, type StoreGuardOptions } from './store-guard.ts';
import { together } from './together.ts';

export interface NodeletOptions extends ServerViewOptions, StoreGuardOptions {
  /** Wrapped so that operations on one guest come one after the other (`drivers/serial-driver.ts`). Not closed by the nodelet. */
  readonly driver: Driver;
  readonly log: Logger;
  /** Whether it may act now. */
  readonly standing: Standing;
  readonly platform: HostReport['platform'];
  /** The group of a Host that is made here; undefined = the default. */
  readonly group?: string | undefined;
  /** Memory kept from guests, in bytes. */
  readonly reserveBytes: number;
  /** What this machine says of its processes. */
  readonly findProcess: FindProcess;
}

/** Keys looked at side by side. None of them waits for a guest: that is what operations are for. */
const WORKERS = 4;
/** Changes of guests that come close together are one report of the host. */
const HOST_DELAY_MS = 200;
/** How often the driver is asked what it may have forgotten to hint at. */
const RESYNC_MS = 10_000;
/** How much of the store's past a process that is killed may forget. */
const KEEP_STORE_MS = 60_000;
const ASK_STORE_MS = 5_000;
const GRACE_MS = 30_000;

/**
 * One host: its Host object, the guests of the VMs bound to it, and the files of the Volumes that lie on it. It keeps nothing that it could not find again: what is wanted comes from the server,
 * what is so from the driver. Ending it leaves the guests running.
 */
export class Nodelet {
  readonly #options: NodeletOptions;
  readonly #view: ServerView;
  readonly #vms: Latest<VM>;
  readonly #volumes: HostVolumes;
  readonly #hosts: Latest<Host>;
  readonly #vmsByGuest: IndexView<VM>;
  readonly #queue: WorkQueue;
  readonly #operations: GuestOperations;
  readonly #images: HeldImages;
  readonly #store: StoreGuard;
  readonly #scrubber: Scrubber;
  readonly #guestDeps: GuestDeps;
  readonly #hostDeps: HostDeps;
  /** Guests that wait for something another guest, or an image, may give. */
  readonly #waiting = new Set<string>();
  /** Images of the first list that were not looked for yet. */
  readonly #unlooked = new Set<string>();
  readonly #registered = Promise.withResolvers<void>();
  #observed: ReadonlyMap<string, ObservedGuest> = new Map();
  #capacity: HostCapacity | undefined;

  constructor(options: NodeletOptions) {
    const { clock, random, driver, log } = options;
    this.#options = options;
    this.#view = new ServerView(options);
    this.#vms = new Latest(this.#view.vms);
    this.#hosts = new Latest(this.#view.hosts);
    this.#vmsByGuest = this.#view.vms.index((vm) => [guestIDOf(vm)]);
    this.#queue = new WorkQueue({ clock, random });
    this.#operations = new GuestOperations({ clock, random, log, onEnd: (id) => this.#guestMoved(id) });
    this.#images = new HeldImages(driver);
    this.#store = new StoreGuard({ ...options, trustedStore: () => this.#hosts.get(options.name)?.spec.trustedStore });
    this.#volumes = new HostVolumes({
      ...options,
      store: this.#store,
      view: this.#view.volumes,
      host: () => this.#hosts.get(options.name),
      enqueue: (key) => this.#queue.add(`volume/${key}`),
    });
    this.#scrubber = this.#makeScrubber();
    this.#guestDeps = this.#depsOfGuests();
    this.#hostDeps = this.#depsOfHost();
  }

  /** Runs until the signal aborts, then resolves when nothing of it is at work any more; rejects when it cannot go on. Call it once. */
  async run(signal: AbortSignal): Promise<void> {
    const stops = this.#subscribe();
    try {
      await together(
        [
          (ends) => this.#view.run(ends),
          (ends) => this.#followDriver(ends),
          async (ends) => {
            await this.#view.whenSynced(ends);
            this.#begin();
            const workers = Array.from({ length: WORKERS }, () => (s: AbortSignal) => this.#work(s));
            await together([...workers, (s) => this.#resync(s), (s) => this.#keepStore(s)], ends);
          },
        ],
        signal,
      );
    } finally {
      for (const stop of stops) stop();
      this.#queue[Symbol.dispose]();
      await this.#operations.drained();
      await this.#scrubber.drained();
      await this.#rememberStore(new AbortController().signal);
    }
  }

  /** What is wanted is known now; without it every guest would be an orphan. */
  #begin(): void {
    for (const { metadata } of this.#view.images.list()) {
      this.#unlooked.add(metadata.name);
      this.#imageMoved(metadata.name);
    }
    this.#queue.add('host');
  }

  /** Resolves when the Host object is there: the server takes no control socket of a host it does not know. */
  get registered(): Promise<void> {
    return this.#registered.promise;
  }

  /** A hint that images or the machine itself may be different: all of it is looked at again. */
  rescan(): void {
    this.#capacity = undefined;
    this.#queue.add('host');
    for (const { metadata } of this.#view.images.list()) this.#queue.add(`image/${metadata.name}`);
  }

  /** The operator takes the store as it is now (see `StoreGuard`). */
  async acknowledgeStore(): Promise<void> {
    await this.#store.acknowledge();
    this.#queue.add('host');
    this.#volumes.lookAtAll();
    this.#wakeWaiting();
  }

  #subscribe(): (() => void)[] {
    return [
      this.#view.vms.subscribe(({ before, after }) => {
        for (const vm of [before, after]) if (vm !== undefined) this.#queue.add(`guest/${guestIDOf(vm)}`);
        this.#queue.addAfter('host', HOST_DELAY_MS);
      }),
      this.#view.volumes.subscribe(({ key }) => {
        this.#queue.add(`volume/${key}`);
        this.#queue.addAfter('host', HOST_DELAY_MS);
        this.#wakeWaiting();
      }),
      this.#options.standing.onChange(() => {
        if (!this.#options.standing.acts) this.#scrubber.abort();
        this.#queue.add('host');
        this.#volumes.lookAtAll();
        this.#wakeWaiting();
      }),
      this.#view.hosts.subscribe(({ before, after }) => {
        this.#queue.add('host');
        if (before?.metadata.uid !== after?.metadata.uid)
          for (const id of this.#observed.keys()) this.#queue.add(`guest/${id}`);
        if (before?.metadata.uid !== after?.metadata.uid) this.#volumes.lookAtAll();
        for (const id of after?.spec.removeOrphans ?? []) this.#queue.add(`guest/${id}`);
      }),
      this.#view.images.subscribe(({ key, before, after }) => {
        // Their status moves with every host that finds them; only where they lie is of interest.
        if (before?.spec.source.path !== after?.spec.source.path) this.#imageMoved(key);
      }),
    ];
  }

  async #work(signal: AbortSignal): Promise<void> {
    for (;;) {
      const key = await this.#queue.take(signal);
      try {
        const { requeueAfterMs } = await this.#reconcile(key, signal);
        this.#queue.forget(key);
        if (requeueAfterMs !== undefined) this.#queue.addAfter(key, requeueAfterMs);
      } catch (error) {
        signal.throwIfAborted();
        this.#queue.addBackedOff(key);
        // Somebody else wrote since: the key simply comes again.
        if (!hasReason(error, 'Conflict')) this.#options.log.info('not done, tried again', { key, why: String(error) });
      } finally {
        this.#queue.done(key);
      }
    }
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<Outcome> {
    if (key === 'host') return this.#reconcileHost(signal);
    const name = key.slice(key.indexOf('/') + 1);
    if (key.startsWith('volume/')) return this.#reconcileVolume(name, signal);
    return key.startsWith('image/') ? this.#reconcileImage(name, signal) : this.#reconcileGuest(name, signal);
  }

  async #reconcileHost(signal: AbortSignal): Promise<Outcome> {
    const before = this.#store.trust?.trusted;
    try {
      const outcome = await reconcileHost(this.#hostDeps, signal);
      this.#registered.resolve();
      return outcome;
    } finally {
      // Whether or not the report of it could be written just now.
      if (before !== undefined && before !== this.#store.trust?.trusted) this.#wakeWaiting();
      this.#lookAnew(before);
    }
  }

  async #reconcileGuest(id: string, signal: AbortSignal): Promise<Outcome> {
    if (!this.#options.standing.acts) {
      this.#waiting.add(id);
      return {};
    }
    const trusted = this.#store.trust?.trusted;
    const outcome = await reconcileGuest(id, this.#guestDeps, signal);
    if (this.#store.trust?.trusted !== trusted) this.#queue.add('host');
    this.#lookAnew(trusted);
    if (outcome.requeueAfterMs !== undefined) this.#waiting.add(id);
    return outcome;
  }

  async #reconcileVolume(key: string, signal: AbortSignal): Promise<Outcome> {
    if (!this.#options.standing.acts) return {};
    const trusted = this.#store.trust?.trusted;
    const outcome = await this.#volumes.reconcile(key, signal);
    if (this.#store.trust?.trusted !== trusted) this.#queue.add('host');
    return outcome;
  }

  async #reconcileImage(name: string, signal: AbortSignal): Promise<Outcome> {
    try {
      const changed = await this.#images.look(name, this.#view.images.get(name), signal);
      if (changed) this.#wakeWaiting();
    } finally {
      // One that cannot be read must not keep the others from being told of.
      this.#unlooked.delete(name);
      this.#queue.addAfter('host', HOST_DELAY_MS);
    }
    return {};
  }

  #imageMoved(name: string): void {
    this.#queue.add(`image/${name}`);
  }

  #guestMoved(id: string): void {
    this.#queue.add(`guest/${id}`);
    this.#queue.addAfter('host', HOST_DELAY_MS);
    this.#wakeWaiting();
  }

  #wakeWaiting(): void {
    for (const id of this.#waiting) this.#queue.add(`guest/${id}`);
    this.#waiting.clear();
  }

  async #followDriver(signal: AbortSignal): Promise<void> {
    for await (const id of this.#options.driver.changes(signal)) this.#guestMoved(id);
  }

  /** Hints may be lost, guests may be there from before: what the driver lists is what counts. */
  async #resync(signal: AbortSignal): Promise<void> {
    const { driver, clock, random } = this.#options;
    for (;;) {
      try {
        const now = new Map((await driver.list(signal)).map((guest) => [guest.id, guest]));
        for (const id of new Set([...now.keys(), ...this.#observed.keys()])) {
          if (!jsonEqual(now.get(id), this.#observed.get(id))) this.#guestMoved(id);
        }
        this.#observed = now;
        await this.#volumes.resync(signal);
      } catch {
        // The host's report finds the same, and says so.
        signal.throwIfAborted();
        this.#queue.add('host');
      }
      await clock.sleep(RESYNC_MS * (0.75 + random() / 2), signal);
    }
  }

  /** What is decided now may not be undone by a store that is put back to before it: see `StoreGuard`. */
  async #keepStore(signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.#options.clock.sleep(KEEP_STORE_MS * (0.75 + this.#options.random() / 2), signal);
      await this.#rememberStore(signal);
    }
  }

  async #rememberStore(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    const before = this.#store.trust?.trusted;
    if (before === undefined) return;
    await withDeadline(clock, ASK_STORE_MS, signal, (s) => this.#store.keep(s)).catch((error: unknown) => {
      signal.throwIfAborted();
      log.info('revision of the store not kept', { why: String(error) });
    });
    if (this.#store.trust?.trusted !== before) this.#queue.add('host');
    this.#lookAnew(before);
  }

  /** A store that was put back and went on past the version that is followed here tells of none of what it has again. */
  #lookAnew(before: boolean | undefined): void {
    if (before !== false && this.#store.trust?.trusted === false) this.#view.relist();
  }

  #makeScrubber(): Scrubber {
    const { name, client, driver, clock, log, root, findProcess } = this.#options;
    return new Scrubber({
      driver,
      clock,
      log,
      store: this.#store,
      file: new ScrubFile(root),
      hook: new ScrubHook({ root, host: name, clock, log, find: findProcess }),
      fetchHost: (signal) => orGone(client.resource<Host>(Host).get(name, signal)),
      isBusy: () => this.#operations.busy || this.#bound().some((vm) => !holdsNothing(vm)),
      volumeGone: (id) => this.#volumes.isGivenUp(id),
      onEnd: (afterMs) => this.#queue.addAfter('host', afterMs),
    });
  }

  async #capacityOf(signal: AbortSignal): Promise<HostCapacity> {
    this.#capacity ??= await this.#options.driver.capacity(signal);
    return this.#capacity;
  }

  #depsOfGuests(): GuestDeps {
    const { driver, client, clock, log, name, reserveBytes } = this.#options;
    return {
      host: name,
      hostUID: () => this.#hosts.get(name)?.metadata.uid,
      driver,
      client,
      clock,
      log,
      operations: this.#operations,
      room: new GuestRoom(driver),
      store: this.#store,
      graceMs: GRACE_MS,
      imagePath: (image) => this.#view.images.get(image)?.spec.source.path,
      volume: (key) => this.#volumes.get(key),
      memoryBytes: async (signal) => guestMemoryBytes(await this.#capacityOf(signal), reserveBytes),
      vmsOf: (id) => this.#latest(this.#vmsByGuest.get(id)),
      mayRemove: (id) => this.#hosts.get(name)?.spec.removeOrphans?.includes(id) === true,
      wrote: (vm) => this.#vms.wrote(vm),
    };
  }

  #depsOfHost(): HostDeps {
    const { driver, client, clock, log, name, group, platform, reserveBytes, standing } = this.#options;
    return {
      name,
      group,
      log,
      standing,
      client,
      driver,
      clock,
      platform,
      reserveBytes,
      store: this.#store,
      host: () => this.#hosts.get(name),
      wrote: (host) => this.#hosts.wrote(host),
      vms: () => this.#bound(),
      volumes: () => this.#volumes.list(),
      scrubber: this.#scrubber,
      images: () => this.#images.list(),
      imagesKnown: () => this.#unlooked.size === 0,
      capacity: (signal) => this.#capacityOf(signal),
    };
  }

  /** The VMs bound here. */
  #bound(): readonly VM[] {
    return this.#latest([...this.#view.vms.list()]);
  }

  /** As new as is known, without those of a Host that was given up: with it they were, whatever is called like it now. */
  #latest(vms: readonly VM[]): readonly VM[] {
    const host = this.#hosts.get(this.#options.name);
    const isOurs = (vm: VM) => !isLost(vm) && (host === undefined || !isOfAnotherHost(vm, host));
    return vms.map((vm) => this.#vms.get(objectKey(vm.metadata)) ?? vm).filter(isOurs);
  }
}
