import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { hostIdentity, type Identity, OPERATOR } from '../../apiserver/auth/identity.ts';
import { ApiClient } from '../../apiserver/client/client.ts';
import { FleetCheck } from '../../apiserver/client/cut/fleet-check.ts';
import type { Store } from '../../apiserver/store/store.ts';
import type { DutyName } from '../../controllers/duties.ts';
import { Semaphore } from '../../nodelet/drivers/semaphore.ts';
import { SerialDriver } from '../../nodelet/drivers/serial-driver.ts';
import { SimDriver } from '../../nodelet/drivers/sim/sim-driver.ts';
import type { SimGuest } from '../../nodelet/drivers/sim/sim-guests-file.ts';
import { type RunningNodelet, runNodelet } from '../../nodelet/run-nodelet.ts';
import { silentLogger } from '../../resources/ambient/log.ts';
import { ManualClock } from '../../resources/ambient/manual-clock.ts';
import type { Violation } from '../../resources/invariants/fleet-checker.ts';
import { Host } from '../../resources/kinds/host.ts';
import { Image } from '../../resources/kinds/image.ts';
import { Lease } from '../../resources/kinds/lease.ts';
import { Namespace } from '../../resources/kinds/namespace.ts';
import { Tenant } from '../../resources/kinds/tenant.ts';
import { VM } from '../../resources/kinds/vm.ts';
import { Volume } from '../../resources/kinds/volume.ts';
import { isTrue } from '../../resources/meta/condition.ts';
import { parseDuration } from '../../resources/meta/duration.ts';
import type { KubeObject } from '../../resources/meta/object.ts';
import { memorySimHost } from '../nodelet/drivers/sim/memory-sim-host.ts';
import { quiesce } from './eventually.ts';
import { Fleet } from './fleet.ts';
import { type RawAnswer, send } from './raw.ts';

const GIB = 1024 ** 3;
const HOUR_MS = 3_600_000;
const PATIENCE_MS = 15_000;
/** Half a minute of the story. */
const SLOW_TURNS = 600;
const APPLY = { 'content-type': 'application/merge-patch+json' };

/** A clock whose hands an operator may move; the time that goes by is another matter. */
export class SettableClock extends ManualClock {
  #setByMs = 0;

  override now(): number {
    return super.now() + this.#setByMs;
  }

  override monotonic(): number {
    return super.now();
  }

  /** Puts the hands forward, or back. */
  set(byMs: number): void {
    this.#setByMs += byMs;
  }
}

interface MacWish {
  readonly vcpus?: number;
  readonly memoryGiB?: number;
  readonly labels?: Record<string, string>;
}

/** All duties but the one that judges hosts by their heartbeats, for stories that are a day long. */
const UNHEARD: readonly DutyName[] = [
  'tenant',
  'image',
  'lease',
  'leaseset',
  'volume',
  'placement',
  'pool',
  'drain',
  'vm-lifecycle',
  'garbage',
];

/**
 * A fleet in this process for stories: the real server over a store in memory (or another), the real duties, a nodelet with a simulated driver on each Mac,
 * and time that goes by when told. It begins on 1 March 2026 at 10:00 UTC. Every revision of it is judged by the promises about the fleet, and a story in
 * which one is broken fails when it ends.
 */
export class FleetWorld implements AsyncDisposable {
  readonly clock: SettableClock;
  readonly fleet: Fleet;
  readonly #macs = new Map<string, Mac>();
  readonly #folder = mkdtempSync(join(tmpdir(), 'coppice-story-'));
  readonly #unchecked = new AbortController();
  readonly #checking: Promise<void>;
  readonly #violations: Violation[] = [];

  private constructor(fleet: Fleet, clock: SettableClock, checked: boolean) {
    this.fleet = fleet;
    this.clock = clock;
    const listener = { violation: (violation: Violation) => this.#violations.push(violation) };
    const check = new FleetCheck({ client: fleet.test.client, clock, random: () => 0.5, listener });
    this.#checking = checked ? check.run(this.#unchecked.signal) : Promise.resolve();
  }

  static async start(
    options: {
      readonly at?: string;
      /** In place of one that begins at `at`. */
      readonly clock?: SettableClock;
      readonly store?: Store;
      readonly duties?: boolean;
      /** False: the caller has a check of its own. */
      readonly checked?: boolean;
    } = {},
  ) {
    const clock = options.clock ?? new SettableClock(Date.parse(options.at ?? '2026-03-01T10:00:00Z'));
    const fleet = await Fleet.start({ clock, ...(options.store === undefined ? {} : { store: options.store }) });
    const world = new FleetWorld(fleet, clock, options.checked !== false);
    await world.create(Image, { metadata: { name: 'macos' }, spec: { guestOS: 'macos', source: { path: 'macos' } } });
    await world.create(Image, { metadata: { name: 'linux' }, spec: { guestOS: 'linux', source: { path: 'linux' } } });
    if (options.duties !== false) world.startControllers();
    return world;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Watches tell within a second that there is no more.
    for (let turn = 0; turn < 5; turn++) await this.settles();
    this.#unchecked.abort(new Error('the story is over'));
    await this.#checking;
    for (const mac of this.#macs.values()) await mac.stop();
    await this.fleet[Symbol.asyncDispose]();
    rmSync(this.#folder, { recursive: true, force: true });
    const broken = this.#violations.filter(({ standing }) => !standing);
    assert.deepEqual(
      broken.map(({ invariant, message }) => `${invariant}: ${message}`),
      [],
      'promises about the fleet',
    );
  }

  startControllers(...only: readonly DutyName[]): void {
    this.fleet.startControllers(...(only.length === 0 ? UNHEARD : only));
  }

  async stopControllers(): Promise<void> {
    await this.fleet.stopControllers();
  }

  /** A Mac joins and is ready. */
  async mac(name: string, { vcpus = 8, memoryGiB = 18, labels = {} }: MacWish = {}): Promise<void> {
    await this.create(Host, { metadata: { name, labels }, spec: {} });
    const client = new ApiClient(this.fleet.watched(`system:host:${name}`, hostIdentity(name)));
    const mac = new Mac(name, client, this.fleet.test.store, this.clock, join(this.#folder, name), {
      vcpus,
      memoryBytes: memoryGiB * GIB,
      diskBytes: 256 * GIB,
    });
    this.#macs.set(name, mac);
    mac.start();
    await this.until(`${name} tells of itself`, () => (this.host(name).status?.images?.length ?? 0) >= 2);
    await this.ready(name, 'True');
  }

  /** What is known of whether a Mac is heard; the duty that judges heartbeats says it elsewhere. */
  async ready(name: string, status: 'True' | 'False' | 'Unknown'): Promise<void> {
    const reason = { True: 'NodeletReady', False: 'DriverFailed', Unknown: 'NodeletSilent' }[status];
    const ready = { type: 'Ready', status, reason, message: '', lastTransitionTime: '2026-03-01T10:00:00Z' };
    const conditions = [...(this.host(name).status?.conditions ?? []).filter(({ type }) => type !== 'Ready'), ready];
    await this.fleet.resource<Host>(Host).patch(name, { status: { conditions } }, { subresource: 'status' });
  }

  /** The nodelet of a Mac ends; its guests stay. */
  async stopNodelet(name: string): Promise<void> {
    await this.#mac(name).stop();
  }

  startNodelet(name: string): void {
    this.#mac(name).start();
  }

  /** Something goes wrong on a Mac, as `--faults` says it. */
  async suffers(name: string, ...faults: Parameters<SimDriver['inject']>[0]): Promise<void> {
    await this.#mac(name).sim?.inject(faults);
  }

  /** All is well on it again. */
  heals(name: string): void {
    this.#mac(name).sim?.heal();
  }

  /** The folder of a Mac, where its hook is. */
  folderOf(name: string): string {
    return join(this.#folder, name);
  }

  /** The bytes of the files of volumes on a Mac, by id. */
  volumesOn(name: string): Map<string, number> {
    return this.#mac(name).volumes;
  }

  /** Guests that are on a Mac, by id. */
  guestsOn(name: string): ReadonlyMap<string, SimGuest> {
    return this.#mac(name).guests;
  }

  async tenant(name: string, spec: Tenant['spec'] = {}): Promise<void> {
    await this.create(Tenant, { metadata: { name }, spec });
  }

  /** A namespace that nobody is a tenant of. */
  async namespace(name: string): Promise<void> {
    const made = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
    await this.fleet.resource<Namespace>(Namespace).create(made);
  }

  /** A Lease, as somebody writes it into a file: `ci` of `acme` unless said otherwise. */
  async asks(spec: Partial<Lease['spec']> = {}, key = 'acme/ci', as: Identity = OPERATOR): Promise<RawAnswer> {
    const [namespace = '', name = ''] = key.split('/');
    const body = { apiVersion: 'coppice.dev/v1', kind: 'Lease', metadata: { name }, spec };
    return this.request('POST', `namespaces/${namespace}/leases`, body, as);
  }

  async patches(key: string, body: object, as: Identity = OPERATOR): Promise<RawAnswer> {
    const [namespace = '', name = ''] = key.split('/');
    return this.request('PATCH', `namespaces/${namespace}/leases/${name}`, body, as);
  }

  async deletes(key: string, as: Identity = OPERATOR): Promise<RawAnswer> {
    const [namespace = '', name = ''] = key.split('/');
    return this.request('DELETE', `namespaces/${namespace}/leases/${name}`, undefined, as);
  }

  async request(method: string, path: string, body?: object, as: Identity = OPERATOR): Promise<RawAnswer> {
    const headers = method === 'PATCH' ? APPLY : {};
    const url = `/apis/coppice.dev/v1/${path}`;
    const wish = { headers, identity: as, ...(body === undefined ? {} : { body }) };
    return send(this.fleet.test.server.app, method, url, wish);
  }

  /** A VM that runs. */
  async runs(key: string, spec: Partial<VM['spec']> = {}): Promise<VM> {
    const [namespace = '', name = ''] = key.split('/');
    const size = { vcpus: 1, memory: '1Gi' };
    await this.create(VM, { metadata: { name, namespace }, spec: { image: 'macos', size, ...spec } });
    await this.until(`${key} runs`, () => this.vm(key)?.status?.phase === 'Running');
    return this.vm(key) as VM;
  }

  lease(key = 'acme/ci'): Lease | undefined {
    return this.#find<Lease>(Lease, key);
  }

  /** A lease in one line: phase, host, and why Ready is as it is. */
  tells(key = 'acme/ci'): string {
    const lease = this.lease(key);
    if (lease === undefined) return 'gone';
    const { phase = 'new', host, conditions = [] } = lease.status ?? {};
    const ready = conditions.find(({ type }) => type === 'Ready');
    return [phase, host === undefined ? '' : `on ${host}`, `(${ready?.reason ?? ''})`]
      .filter((s) => s !== '')
      .join(' ');
  }

  vm(key: string): VM | undefined {
    return this.#find<VM>(VM, key);
  }

  volume(key: string): Volume | undefined {
    return this.#find<Volume>(Volume, key);
  }

  host(name: string): Host {
    return this.fleet.find<Host>(Host, name) ?? missing(`host ${name}`);
  }

  /** A host in one line: whose it is, or what it waits for. */
  hostTells(name: string): string {
    const host = this.host(name);
    const { lease } = host.status ?? {};
    if (lease !== undefined) {
      const how = lease.ending === true ? 'let go soon by' : lease.released === true ? 'held for' : 'leased to';
      return `${how} ${lease.namespace}`;
    }
    return isTrue(host, 'ScrubPending') ? 'waits for a scrub' : 'free';
  }

  /** Time goes by, `23h59m59s`, and what falls due happens. */
  async passes(time: string): Promise<void> {
    await this.settles();
    // A day in small steps is a day of every timer there is.
    await this.clock.leap(parseDuration(time) ?? missing(`the duration ${time}`));
    await this.settles();
  }

  /** Time goes by until an instant, or until some milliseconds after it. */
  async isNow(instant: string | undefined, afterMs = 0): Promise<void> {
    await this.settles();
    await this.clock.leap(Date.parse(instant ?? '') + afterMs - this.clock.now());
    await this.settles();
  }

  /** What can happen without much time going by, happens: less than half a second. */
  async settles(): Promise<void> {
    for (let turn = 0; turn < 8; turn++) {
      await quiesce();
      await this.clock.advance(50);
    }
    await quiesce();
  }

  /**
   * Lets time pass until something holds; an hour at most. It passes slowly at first: nodelets have files to write and programs to run meanwhile, which take
   * time of the machine that runs this, and deadlines of theirs must not be over first.
   */
  async until(what: string, holds: () => boolean): Promise<void> {
    const endMs = this.clock.monotonic() + HOUR_MS;
    const deadlineMs = performance.now() + PATIENCE_MS;
    for (let [turn, stepMs] = [0, 50]; ; turn++) {
      await quiesce();
      if (holds()) return;
      if (performance.now() > deadlineMs) {
        const errors = this.fleet.errors.slice(-3).join(' | ');
        throw new Error(`never came true: ${what}; last errors: ${errors}`);
      }
      await delay(1);
      if (turn > SLOW_TURNS) stepMs *= 1.2;
      if (this.clock.monotonic() < endMs) await this.clock.advance(Math.min(stepMs, endMs - this.clock.monotonic()));
    }
  }

  async create<T extends KubeObject>(
    kind: Parameters<Fleet['resource']>[0] & { readonly kind: string },
    { metadata, spec }: { metadata: { name: string; namespace?: string; labels?: object }; spec: object },
  ): Promise<T> {
    const body = { apiVersion: 'coppice.dev/v1', kind: kind.kind, metadata, spec };
    const where = kind.namespaced ? `namespaces/${metadata.namespace}/` : '';
    const answer = await this.request('POST', `${where}${kind.plural}`, body);
    if (answer.status >= 300) throw new Error(answer.text);
    return JSON.parse(answer.text) as T;
  }

  #find<T extends KubeObject>(kind: Parameters<Fleet['find']>[0], key: string): T | undefined {
    const [namespace, name = ''] = key.split('/');
    return this.fleet.find(kind, name, namespace) as T | undefined;
  }

  #mac(name: string): Mac {
    return this.#macs.get(name) ?? missing(`a nodelet for ${name}`);
  }
}

function missing(what: string): never {
  throw new Error(`there is no ${what}`);
}

/** A nodelet and its simulated driver; what is on the disk outlives both. */
class Mac {
  readonly guests = new Map<string, SimGuest>();
  sim: SimDriver | undefined;
  readonly volumes = new Map<string, number>();
  readonly #start: () => { readonly nodelet: RunningNodelet; readonly stop: () => Promise<void> };
  #running: ReturnType<Mac['start']> | undefined;

  constructor(
    name: string,
    client: ApiClient,
    store: Store,
    clock: ManualClock,
    root: string,
    capacity: ConstructorParameters<typeof SimDriver>[0]['capacity'],
  ) {
    this.#start = () => {
      const sim = new SimDriver({ host: memorySimHost(this.guests, this.volumes), capacity, clock });
      this.sim = sim;
      const driver = new SerialDriver(sim, { clock, coldStarts: new Semaphore(2) });
      const ending = new AbortController();
      const storeIdentity = async () => ({ uid: store.uid, revision: store.revision() });
      const options = { name, driver, client, clock, random: () => 0.5, log: silentLogger, root, storeIdentity };
      const nodelet = runNodelet(options, ending.signal);
      // One that fails fails the story that waits for it.
      nodelet.done.catch(() => {});
      const stop = async () => {
        ending.abort(new Error('the nodelet is stopped'));
        await nodelet.done.catch(() => {});
        await driver[Symbol.asyncDispose]();
      };
      return { nodelet, stop };
    };
  }

  start(): { readonly stop: () => Promise<void> } {
    this.#running = this.#start();
    return this.#running;
  }

  async stop(): Promise<void> {
    await this.#running?.stop();
    this.#running = undefined;
  }
}
