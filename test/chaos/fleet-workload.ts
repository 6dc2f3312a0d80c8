import type { ApiClient, ResourceClient } from '../../apiserver/client/client.ts';
import type { Clock } from '../../resources/ambient/clock.ts';
import { rfc3339 } from '../../resources/ambient/clock.ts';
import { LEASE_SET_LABEL } from '../../resources/guards/lease-set.ts';
import { Host } from '../../resources/kinds/host.ts';
import { Image } from '../../resources/kinds/image.ts';
import { Lease } from '../../resources/kinds/lease.ts';
import { LeaseSet } from '../../resources/kinds/lease-set.ts';
import { Policy } from '../../resources/kinds/policy.ts';
import { Pool } from '../../resources/kinds/pool.ts';
import { Tenant } from '../../resources/kinds/tenant.ts';
import { VM } from '../../resources/kinds/vm.ts';
import { Volume } from '../../resources/kinds/volume.ts';
import { ApiError } from '../../resources/meta/api-error.ts';
import type { Kind } from '../../resources/meta/define-kind.ts';
import type { KubeObject } from '../../resources/meta/object.ts';
import type { Random } from '../fuzz/random.ts';

interface FleetWorkloadDeps {
  /** An operator's. */
  readonly client: ApiClient;
  readonly random: Random;
  readonly clock: Clock;
}

const API_VERSION = 'coppice.dev/v1';
const TENANTS = ['red', 'blue', 'green'] as const;
const MOST_VMS = 30;
const MOST_LEASES = 6;
const MOST_POOLS = 4;
const MOST_VOLUMES = 10;
const WARM_SIZE = { vcpus: 1, memory: '1Gi' };
const MOST_SETS = 2;

type Deed = readonly [weight: number, name: string, act: (signal: AbortSignal) => Promise<unknown>];

/** Several teams that rent, run, stop, lose patience and go, and an operator among them: whatever the seed says, one thing after the other. */
export class FleetWorkload {
  readonly #deps: FleetWorkloadDeps;
  readonly #done = new Map<string, number>();
  #refused = 0;
  #failed = 0;
  #made = 0;

  constructor(deps: FleetWorkloadDeps) {
    this.#deps = deps;
  }

  /** How often each thing was done. */
  get done(): ReadonlyMap<string, number> {
    return this.#done;
  }

  /** What it did, for people. */
  lines(): readonly string[] {
    const deeds = [...this.#done].map(([name, count]) => `${name} ${count}`).sort();
    return [`done: ${deeds.join(', ') || 'nothing'}`, `${this.#refused} refused, ${this.#failed} not answered`];
  }

  /** Images, and the first tenants. */
  async furnish(signal: AbortSignal): Promise<void> {
    for (const guestOS of ['macos', 'linux'] as const)
      await this.#create<Image>(Image, undefined, guestOS, { guestOS, source: { path: guestOS } }, signal).catch(
        ignore,
      );
    for (const name of TENANTS.slice(0, 2)) await this.#makeTenant(name, signal);
  }

  /** One thing more. What is refused, and what nobody answers, is so. */
  async step(signal: AbortSignal): Promise<void> {
    const deeds = this.#deeds();
    let at = this.#deps.random.below(deeds.reduce((sum, [weight]) => sum + weight, 0));
    const deed = deeds.find(([weight]) => {
      at -= weight;
      return at < 0;
    });
    if (deed === undefined) return;
    const [, name, act] = deed;
    try {
      if ((await act(signal)) !== NOTHING) this.#done.set(name, (this.#done.get(name) ?? 0) + 1);
    } catch (error) {
      if (error instanceof ApiError && error.code < 500) this.#refused++;
      else this.#failed++;
    }
  }

  #deeds(): readonly Deed[] {
    return [
      [24, 'VM made', (signal) => this.#makeVM(signal)],
      [7, 'VM deleted', (signal) => this.#one(VM, signal, (vms, vm) => vms.delete(vm.metadata.name, {}, signal))],
      [9, 'power set', (signal) => this.#setPower(signal)],
      [16, 'lease asked for', (signal) => this.#makeLease(signal)],
      [
        3,
        'lease deleted',
        (signal) => this.#one(Lease, signal, (leases, { metadata }) => leases.delete(metadata.name, {}, signal)),
      ],
      [4, 'lease released', (signal) => this.#release(signal, false)],
      [3, 'lease forced to end', (signal) => this.#release(signal, true)],
      [5, 'set of leases made', (signal) => this.#makeSet(signal)],
      [10, 'set of leases scaled', (signal) => this.#scaleSet(signal)],
      [
        2,
        'set of leases deleted',
        (signal) => this.#one(LeaseSet, signal, (sets, { metadata }) => sets.delete(metadata.name, {}, signal)),
      ],
      [1, 'lease taken out of its set', (signal) => this.#takeOut(signal)],
      [6, 'tenant made', (signal) => this.#makeTenant(this.#deps.random.pick(TENANTS), signal)],
      [
        1,
        'tenant deleted',
        (signal) => this.#one(Tenant, signal, (tenants, { metadata }) => tenants.delete(metadata.name, {}, signal)),
      ],
      [5, 'quota set', (signal) => this.#setQuota(signal)],
      [1, 'host cordoned', (signal) => this.#setHost(signal, { cordoned: true })],
      [4, 'host uncordoned', (signal) => this.#setHost(signal, { cordoned: false })],
      [5, 'host drained', (signal) => this.#drain(signal)],
      [4, 'drain ended', (signal) => this.#endDrain(signal)],
      [5, 'scrub asked for', (signal) => this.#setHost(signal, { scrub: this.#scrub() })],
      [6, 'pool made', (signal) => this.#makePool(signal)],
      [6, 'pool scaled', (signal) => this.#scale(signal)],
      [
        2,
        'pool deleted',
        (signal) => this.#one(Pool, signal, (pools, { metadata }) => pools.delete(metadata.name, {}, signal)),
      ],
      [16, 'warm guest asked for', (signal) => this.#askForWarm(signal)],
      [8, 'volume made', (signal) => this.#makeVolume(signal)],
      [12, 'VM with volumes asked for', (signal) => this.#askWithVolumes(signal)],
      [3, 'volume resized', (signal) => this.#resize(signal)],
      [
        3,
        'volume deleted',
        (signal) => this.#one(Volume, signal, (volumes, { metadata }) => volumes.delete(metadata.name, {}, signal)),
      ],
      [2, 'policy set', (signal) => this.#setPolicy(signal)],
    ];
  }

  async #makeVM(signal: AbortSignal): Promise<unknown> {
    const { random } = this.#deps;
    const { items } = await this.#deps.client.resource<VM>(VM).list({}, signal);
    if (items.length >= MOST_VMS) return NOTHING;
    const spec = {
      image: random.oneIn(2) ? 'macos' : 'linux',
      size: { vcpus: 1 + random.below(4), memory: `${1 + random.below(6)}Gi` },
      class: random.oneIn(4) ? 'reserved' : 'flex',
      ...(random.oneIn(6) ? { power: 'Stopped' } : {}),
      ...(random.oneIn(6) ? { ttl: '8h' } : {}),
      ...(random.oneIn(2) ? { reschedulable: true } : {}),
    } as VM['spec'];
    return this.#create<VM>(VM, random.pick(TENANTS), `vm-${this.#made++}`, spec, signal);
  }

  async #makePool(signal: AbortSignal): Promise<unknown> {
    const { random } = this.#deps;
    const { items } = await this.#deps.client.resource<Pool>(Pool).list({}, signal);
    if (items.length >= MOST_POOLS) return NOTHING;
    const spec = {
      image: random.oneIn(3) ? 'macos' : 'linux',
      size: WARM_SIZE,
      replicas: random.below(4),
      ...(random.oneIn(3) ? { shared: true } : {}),
    } as Pool['spec'];
    return this.#create<Pool>(Pool, random.pick(TENANTS), `pool-${this.#made++}`, spec, signal);
  }

  #scale(signal: AbortSignal): Promise<unknown> {
    const spec = { replicas: this.#deps.random.below(5) };
    return this.#one(Pool, signal, (pools, { metadata }) =>
      pools.patch(metadata.name, { spec }, { subresource: 'scale' }, signal),
    );
  }

  /** A VM like the members of some pool. */
  async #askForWarm(signal: AbortSignal): Promise<unknown> {
    const { random, client } = this.#deps;
    const { items } = await client.resource<VM>(VM).list({}, signal);
    const { items: pools } = await client.resource<Pool>(Pool).list({}, signal);
    if (items.length >= MOST_VMS || pools.length === 0) return NOTHING;
    const { metadata, spec } = random.pick(pools);
    const namespace = random.oneIn(3) ? random.pick(TENANTS) : metadata.namespace;
    const wish = { image: spec.image, size: WARM_SIZE } as VM['spec'];
    return this.#create<VM>(VM, namespace, `vm-${this.#made++}`, wish, signal);
  }

  async #makeVolume(signal: AbortSignal): Promise<unknown> {
    const { random } = this.#deps;
    const { items } = await this.#deps.client.resource<Volume>(Volume).list({}, signal);
    if (items.length >= MOST_VOLUMES) return NOTHING;
    const spec = { size: `${1 + random.below(80)}Gi` };
    return this.#create<Volume>(Volume, random.pick(TENANTS), `volume-${this.#made++}`, spec, signal);
  }

  /** A VM that names volumes of its tenant: free ones, those of another VM, on one host or on two. */
  async #askWithVolumes(signal: AbortSignal): Promise<unknown> {
    const { random, client } = this.#deps;
    const namespace = random.pick(TENANTS);
    const { items } = await client.resource<Volume>(Volume, namespace).list({}, signal);
    if (items.length === 0) return NOTHING;
    const names = new Set([random.pick(items), ...(random.oneIn(3) ? [random.pick(items)] : [])].map(nameOf));
    const volumes = [...names].map((name) => ({ name }));
    const spec = { image: 'linux', size: WARM_SIZE, volumes } as VM['spec'];
    return this.#create<VM>(VM, namespace, `vm-${this.#made++}`, spec, signal);
  }

  #resize(signal: AbortSignal): Promise<unknown> {
    const size = `${20 + this.#deps.random.below(80)}Gi`;
    return this.#one(Volume, signal, (volumes, { metadata }) =>
      volumes.patch(metadata.name, { spec: { size } }, {}, signal),
    );
  }

  #setPower(signal: AbortSignal): Promise<unknown> {
    const power = this.#deps.random.pick(['Running', 'Running', 'Stopped', 'Paused'] as const);
    return this.#one(VM, signal, (vms, { metadata }) => vms.patch(metadata.name, { spec: { power } }, {}, signal));
  }

  async #makeLease(signal: AbortSignal): Promise<unknown> {
    const { random } = this.#deps;
    const { items } = await this.#deps.client.resource<Lease>(Lease).list({}, signal);
    if (items.filter(({ status }) => status?.phase !== 'Ended').length >= MOST_LEASES) return NOTHING;
    const spec = {
      releasePolicy: random.oneIn(2) ? 'WhenAllowed' : 'Refuse',
      ...(random.oneIn(2) ? { duration: `${random.below(50)}h` } : {}),
      ...(random.oneIn(3) ? { minVCPUs: 1 + random.below(12) } : {}),
      ...(random.oneIn(8) ? { allowBusy: true } : {}),
    } as Lease['spec'];
    return this.#create<Lease>(Lease, random.pick(TENANTS), `lease-${this.#made++}`, spec, signal);
  }

  async #makeSet(signal: AbortSignal): Promise<unknown> {
    const { random } = this.#deps;
    const { items } = await this.#deps.client.resource<LeaseSet>(LeaseSet).list({}, signal);
    if (items.length >= MOST_SETS) return NOTHING;
    const nights = { name: 'nights', start: '0 22 * * *', duration: '9h', timeZone: 'Europe/Berlin', replicas: 2 };
    const spec = {
      replicas: random.below(3),
      ...(random.oneIn(2) ? { schedules: [nights] } : {}),
      template: { spec: { releasePolicy: random.oneIn(2) ? 'WhenAllowed' : 'Refuse' } },
    } as LeaseSet['spec'];
    return this.#create<LeaseSet>(LeaseSet, random.pick(TENANTS), `set-${this.#made++}`, spec, signal);
  }

  #scaleSet(signal: AbortSignal): Promise<unknown> {
    const spec = { replicas: this.#deps.random.below(4) };
    return this.#one(LeaseSet, signal, (sets, { metadata }) =>
      sets.patch(metadata.name, { spec }, { subresource: 'scale' }, signal),
    );
  }

  #takeOut(signal: AbortSignal): Promise<unknown> {
    return this.#one(Lease, signal, (leases, { metadata }) => {
      if (metadata.labels?.[LEASE_SET_LABEL] === undefined) return NOTHING;
      return leases.patch(metadata.name, { metadata: { labels: { [LEASE_SET_LABEL]: null } } }, {}, signal);
    });
  }

  #release(signal: AbortSignal, force: boolean): Promise<unknown> {
    const release = force ? { force } : { at: rfc3339(this.#deps.clock.now()) };
    return this.#one(Lease, signal, (leases, lease) => {
      if (lease.status?.phase !== 'Active') return NOTHING;
      return leases.patch(lease.metadata.name, { spec: { release } }, {}, signal);
    });
  }

  #makeTenant(name: string, signal: AbortSignal): Promise<unknown> {
    return this.#create<Tenant>(Tenant, undefined, name, { quota: this.#quota() }, signal).catch((error: unknown) => {
      if (error instanceof ApiError && error.reason === 'AlreadyExists') return NOTHING;
      throw error;
    });
  }

  #setQuota(signal: AbortSignal): Promise<unknown> {
    const spec = { quota: this.#quota() };
    return this.#one(Tenant, signal, (tenants, { metadata }) => tenants.patch(metadata.name, { spec }, {}, signal));
  }

  #quota(): NonNullable<Tenant['spec']['quota']> {
    const { random } = this.#deps;
    const maxVMs = 2 + random.below(8);
    return {
      maxVMs,
      maxVCPUs: 4 + random.below(24),
      maxMemory: `${8 + random.below(32)}Gi`,
      maxLeasedHosts: random.below(4),
      maxVolumeSize: `${40 + random.below(200)}Gi`,
    };
  }

  #scrub(): NonNullable<Host['spec']['scrub']> {
    return { requestedAt: rfc3339(this.#deps.clock.now()), force: this.#deps.random.oneIn(2) };
  }

  #setHost(signal: AbortSignal, spec: Partial<Host['spec']>): Promise<unknown> {
    return this.#one(Host, signal, (hosts, host) => {
      if (spec.scrub !== undefined && host.status?.lease !== undefined) return NOTHING;
      if (spec.cordoned === (host.spec.cordoned ?? false)) return NOTHING;
      return hosts.patch(host.metadata.name, { spec }, {}, signal);
    });
  }

  /** One host at a time, so that there is somewhere to go; one with VMs that may go, where there is one. */
  async #drain(signal: AbortSignal): Promise<unknown> {
    const { client, random } = this.#deps;
    const { items: hosts } = await client.resource<Host>(Host).list({}, signal);
    if (hosts.length === 0 || hosts.some(({ spec }) => spec.drain !== undefined)) return NOTHING;
    const { items: vms } = await client.resource<VM>(VM).list({}, signal);
    const movable = vms.filter(
      ({ spec, metadata }) => spec.reschedulable === true && metadata.deletionTimestamp === undefined,
    );
    const used = movable.flatMap(({ spec }) => spec.hostName ?? []);
    const mode = random.pick(['Cordon', 'EvictEphemeral', 'Reschedule', 'Reschedule', 'Reschedule'] as const);
    const name = random.pick(used.length > 0 ? used : hosts.map(({ metadata }) => metadata.name));
    const drain = { mode, force: random.oneIn(2) };
    return client.resource<Host>(Host).patch(name, { spec: { drain } }, {}, signal);
  }

  async #endDrain(signal: AbortSignal): Promise<unknown> {
    const { client, random } = this.#deps;
    const { items } = await client.resource<Host>(Host).list({}, signal);
    const drained = items.filter(({ spec }) => spec.drain !== undefined);
    if (drained.length === 0) return NOTHING;
    const spec = random.oneIn(4) ? { drain: null } : { drain: null, cordoned: null };
    return client.resource<Host>(Host).patch(random.pick(drained).metadata.name, { spec }, {}, signal);
  }

  #setPolicy(signal: AbortSignal): Promise<unknown> {
    const { random } = this.#deps;
    const scrubMode = random.oneIn(2) ? 'Automatic' : 'Manual';
    const spec = {
      scrubMode,
      allowSharedPoolClaims: random.oneIn(2),
      strandedVolumeRetention: random.oneIn(2) ? '1h' : '72h',
    };
    return this.#deps.client.resource<Policy>(Policy).patch('default', { spec }, {}, signal);
  }

  /** Does something to one object of a kind, whichever. */
  async #one<T extends KubeObject>(
    kind: Kind<T>,
    signal: AbortSignal,
    act: (resource: ResourceClient<T>, object: T) => unknown,
  ): Promise<unknown> {
    const { client, random } = this.#deps;
    const { items } = await client.resource<T>(kind).list({}, signal);
    if (items.length === 0) return NOTHING;
    const object = random.pick(items);
    return act(client.resource<T>(kind, object.metadata.namespace), object);
  }

  #create<T extends KubeObject>(
    kind: Kind<T>,
    namespace: string | undefined,
    name: string,
    spec: T['spec'],
    signal: AbortSignal,
  ): Promise<unknown> {
    const { client } = this.#deps;
    const body = Buffer.from(JSON.stringify({ apiVersion: API_VERSION, kind: kind.kind, metadata: { name }, spec }));
    const headers = { 'content-type': 'application/json' };
    return client.json({ method: 'POST', path: client.resource(kind, namespace).path(), headers, body, signal });
  }
}

const nameOf = ({ metadata }: KubeObject): string => metadata.name;
/** There was nothing to do it to. */
const NOTHING = Symbol('nothing');
const ignore = () => {};
