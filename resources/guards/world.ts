import type { Host } from '../kinds/host.ts';
import type { Lease } from '../kinds/lease.ts';
import type { VM } from '../kinds/vm.ts';
import type { Volume } from '../kinds/volume.ts';
import { entry } from '../meta/map-entry.ts';
import { jsonEqual, type KubeObject, objectKey, splitKey } from '../meta/object.ts';
import { resourceId } from '../meta/resource-id.ts';
import { HOSTS, type Ref, VOLUMES } from './refs.ts';
import {
  type HostShare,
  hostShareOf,
  moved,
  type QuotaAmounts,
  sumOfShares,
  type TenantShare,
  tenantShareOf,
} from './shares.ts';
import { isVolumeLost, liesOn } from './volume-facts.ts';

/** What guards, companions and placement judge by: live objects, and sums over them. Objects are shared: never change one. */
export interface WorldView {
  get<T extends KubeObject>(kind: Ref<T>, namespace: string | undefined, name: string): T | undefined;
  list<T extends KubeObject>(kind: Ref<T>, namespace?: string): Iterable<T>;
  /** What a namespace holds against its quota: its admitted VMs, its leases and the hosts held for it. */
  tenantUse(namespace: string): TenantUse;
  /** What the guests bound to a host hold of it; without one of them, by its guestID, where that is the asker's own. */
  hostUse(name: string, without?: string): HostUse;
  /** The volumes that lie on a host and are not lost. Those of another host of its name are not among them. */
  volumesOn(host: string): Iterable<Volume>;
}

interface TenantUse {
  readonly vms: number;
  readonly vcpus: number;
  readonly memoryBytes: number;
  /** Hosts whose lease is the namespace's, with those that are held after their Lease was deleted. */
  readonly leasedHosts: number;
  /** Leases that have or wait for a host. */
  readonly openLeases: number;
}

export interface HostUse {
  readonly guests: number;
  /** Guaranteed share, in millionths of a vCPU. */
  readonly microVCPUs: number;
  readonly memoryBytes: number;
  /** The guests' own disks at their full size. */
  readonly diskBytes: number;
  readonly macosGuests: number;
  /** Namespaces with a guest here. */
  readonly namespaces: ReadonlySet<string>;
}

/** A Lease that is over is a record and holds nothing. */
export function isOpen(lease: Lease): boolean {
  return lease.status?.phase !== 'Ended';
}

/** Has an object, which may be read only when it is looked at. */
export interface Held {
  readonly object: KubeObject;
}

/** The resources whose objects sums are made of. */
const SUMMED: ReadonlySet<string> = new Set([
  'coppice.dev/vms',
  'coppice.dev/hosts',
  'coppice.dev/leases',
  'coppice.dev/volumes',
]);

/**
 * The world as a set of objects with derived sums, kept up by `set`. A value laid over the committed one (`assume`) counts until the
 * committed one catches up or it is dropped, so admissions in flight see each other.
 *
 * Sums are derived from live objects on every change and never stored, so they cannot drift; `recount` proves it in tests.
 */
export class World implements WorldView {
  readonly #committed = new Map<string, Map<string, Held>>();
  readonly #assumed = new Map<string, Map<string, { object: KubeObject | undefined; revision: number }>>();
  readonly #namespaced = new Map<string, Map<string, Map<string, Held>>>();
  readonly #tenants = new Map<string, Map<string, TenantShare>>();
  readonly #hosts = new Map<string, Map<string, HostShare>>();
  /** Sums since they were last asked for, as far as nothing has moved them. */
  readonly #tenantSums = new Map<string, TenantSum>();
  readonly #hostSums = new Map<string, HostSum>();
  /** By namespace: the hosts that are its, and its Leases that are not over. */
  readonly #leasedHosts = new Map<string, Set<string>>();
  readonly #openLeases = new Map<string, Set<string>>();
  /** By host: the volumes that name it. */
  readonly #volumesByHost = new Map<string, Set<string>>();
  #questions = 0;

  /** How many questions of a `WorldView` were answered. What was judged without one depends on no other object than its own. */
  get questions(): number {
    return this.#questions;
  }

  get<T extends KubeObject>(kind: Ref<T>, namespace: string | undefined, name: string): T | undefined {
    this.#questions++;
    return this.#current(resourceId(kind), objectKey({ name, namespace })) as T | undefined;
  }

  *list<T extends KubeObject>(kind: Ref<T>, namespace?: string): Iterable<T> {
    this.#questions++;
    const id = resourceId(kind);
    const assumed = this.#assumed.get(id);
    const base = namespace === undefined ? this.#committed.get(id) : this.#namespaced.get(id)?.get(namespace);
    for (const [key, held] of base ?? []) {
      const over = assumed?.get(key);
      if (over === undefined) yield held.object as T;
      else if (over.object !== undefined) yield over.object as T;
    }
    for (const [key, over] of assumed ?? []) {
      if (over.object === undefined || this.#committed.get(id)?.has(key)) continue;
      if (namespace === undefined || over.object.metadata.namespace === namespace) yield over.object as T;
    }
  }

  tenantUse(namespace: string): TenantUse {
    this.#questions++;
    const { amounts: sum } = entry(this.#tenantSums, namespace, () => this.#sumOfTenant(namespace));
    const leasedHosts = this.#leasedHosts.get(namespace)?.size ?? 0;
    const openLeases = this.#openLeases.get(namespace)?.size ?? 0;
    return { ...sum, leasedHosts, openLeases };
  }

  hostUse(name: string, without?: string): HostUse {
    this.#questions++;
    const sum = entry(this.#hostSums, name, () => sumOfHost(this.#hosts.get(name)?.values() ?? []));
    if (without === undefined || !sum.guests.has(without)) return sum.use;
    return sumOfHost(this.#hosts.get(name)?.values() ?? [], without).use;
  }

  *volumesOn(host: string): Iterable<Volume> {
    this.#questions++;
    const keys = this.#volumesByHost.get(host);
    if (keys === undefined) return;
    const there = this.#current(resourceId(HOSTS), host) as Host | undefined;
    for (const key of keys) {
      const volume = this.#current(resourceId(VOLUMES), key) as Volume | undefined;
      if (volume === undefined || isVolumeLost(volume)) continue;
      if (there === undefined || liesOn(volume, there)) yield volume;
    }
  }

  /** A committed value at a revision (`undefined` = removed). Drops an assumption that it has caught up with. */
  set(kind: Ref<KubeObject>, key: string, object: KubeObject | undefined, revision: number): void {
    this.hold(resourceId(kind), key, object && { object }, revision);
  }

  /** The same of an object that need not be read yet, of the resource with an id: it is looked at only where a sum is made of it. */
  hold(id: string, key: string, held: Held | undefined, revision: number): void {
    const before = SUMMED.has(id) ? this.#current(id, key) : undefined;
    this.#commit(id, key, held);
    const over = this.#assumed.get(id)?.get(key);
    if (over !== undefined && over.revision <= revision) this.#assumed.get(id)?.delete(key);
    this.#recontribute(id, key, before, SUMMED.has(id) ? this.#current(id, key) : undefined);
  }

  /** Counts a value that was submitted at `revision` but not yet seen committed. */
  assume(kind: Ref<KubeObject>, key: string, object: KubeObject | undefined, revision: number): void {
    const id = resourceId(kind);
    const before = this.#current(id, key);
    const over = entry(this.#assumed, id, () => new Map());
    over.set(key, { object, revision });
    this.#recontribute(id, key, before, object);
  }

  /** The value laid over an object by a write in flight, and that write's revision. */
  assumed(
    kind: Ref<KubeObject>,
    key: string,
  ): { readonly object: KubeObject | undefined; readonly revision: number } | undefined {
    return this.#assumed.get(resourceId(kind))?.get(key);
  }

  /** Forgets every assumption at or after `revision`: that write, and all behind it, did not happen. */
  dropFrom(revision: number): void {
    for (const [id, over] of this.#assumed) {
      for (const [key, entry] of over) {
        if (entry.revision < revision) continue;
        over.delete(key);
        this.#recontribute(id, key, entry.object, this.#committed.get(id)?.get(key)?.object);
      }
    }
  }

  /** The same sums counted afresh from the objects: for tests. */
  recount(): World {
    const fresh = new World();
    for (const id of new Set([...this.#committed.keys(), ...this.#assumed.keys()])) {
      for (const key of new Set([
        ...(this.#committed.get(id)?.keys() ?? []),
        ...(this.#assumed.get(id)?.keys() ?? []),
      ])) {
        const object = this.#current(id, key);
        if (object === undefined) continue;
        fresh.#commit(id, key, { object });
        fresh.#recontribute(id, key, undefined, object);
      }
    }
    return fresh;
  }

  #current(id: string, key: string): KubeObject | undefined {
    const over = this.#assumed.get(id)?.get(key);
    return over === undefined ? this.#committed.get(id)?.get(key)?.object : over.object;
  }

  #commit(id: string, key: string, held: Held | undefined): void {
    const { namespace } = splitKey(key);
    const spaces = namespace === undefined ? undefined : entry(this.#namespaced, id, () => new Map());
    if (held !== undefined) {
      put(this.#committed, id, key, held);
      if (spaces !== undefined && namespace !== undefined) put(spaces, namespace, key, held);
      return;
    }
    this.#committed.get(id)?.delete(key);
    if (spaces === undefined || namespace === undefined) return;
    spaces.get(namespace)?.delete(key);
    if (spaces.get(namespace)?.size === 0) spaces.delete(namespace);
  }

  #recontribute(id: string, key: string, before: KubeObject | undefined, after: KubeObject | undefined): void {
    switch (id) {
      case 'coppice.dev/vms':
        this.#recontributeVM(key, before as VM | undefined, after as VM | undefined);
        return;
      case 'coppice.dev/policies':
        this.#recountHosts();
        return;
      case 'coppice.dev/hosts':
        this.#recountHost(key);
        move(this.#leasedHosts, key, lesseeOf(before as Host | undefined), lesseeOf(after as Host | undefined));
        return;
      case 'coppice.dev/leases':
        move(this.#openLeases, key, openIn(before as Lease | undefined), openIn(after as Lease | undefined));
        return;
      case 'coppice.dev/volumes':
        move(
          this.#volumesByHost,
          key,
          (before as Volume | undefined)?.spec.hostName,
          (after as Volume | undefined)?.spec.hostName,
        );
    }
  }

  /** Most changes of a VM move no sum. */
  #recontributeVM(key: string, before: VM | undefined, after: VM | undefined): void {
    const namespace = splitKey(key).namespace ?? '';
    const [hostBefore = '', hostAfter = ''] = [before?.spec.hostName, after?.spec.hostName];
    const tenantShare = () => this.#tenants.get(namespace)?.get(key);
    const [heldBefore, onHostBefore] = [tenantShare(), this.#hosts.get(hostBefore)?.get(key)];
    this.#remove(key, before);
    this.#add(key, after);
    this.#moveTenantSum(namespace, heldBefore, tenantShare());
    if (hostBefore === hostAfter && jsonEqual(onHostBefore, this.#hosts.get(hostAfter)?.get(key))) return;
    this.#hostSums.delete(hostBefore);
    this.#hostSums.delete(hostAfter);
  }

  #moveTenantSum(namespace: string, before: TenantShare | undefined, after: TenantShare | undefined): void {
    const sum = this.#tenantSums.get(namespace);
    if (sum === undefined || jsonEqual(before, after)) return;
    if (sum.standIns || after?.standsInFor !== undefined) this.#tenantSums.delete(namespace);
    else this.#tenantSums.set(namespace, { standIns: false, amounts: moved(sum.amounts, before, after) });
  }

  #sumOfTenant(namespace: string): TenantSum {
    const shares = this.#tenants.get(namespace);
    const all = [...(shares?.values() ?? [])];
    return {
      amounts: sumOfShares(all, (name) => shares?.get(objectKey({ name, namespace }))),
      standIns: all.some(({ standsInFor }) => standsInFor !== undefined),
    };
  }

  #remove(key: string, vm: VM | undefined): void {
    if (vm === undefined) return;
    const shares = this.#tenants.get(vm.metadata.namespace ?? '');
    shares?.delete(key);
    if (shares?.size === 0) this.#tenants.delete(vm.metadata.namespace ?? '');
    if (vm.spec.hostName === undefined) return;
    const onHost = this.#hosts.get(vm.spec.hostName);
    onHost?.delete(key);
    if (onHost?.size === 0) this.#hosts.delete(vm.spec.hostName);
  }

  #add(key: string, vm: VM | undefined): void {
    if (vm === undefined) return;
    put(this.#tenants, vm.metadata.namespace ?? '', key, tenantShareOf(vm));
    if (vm.spec.hostName !== undefined) put(this.#hosts, vm.spec.hostName, key, hostShareOf(vm, this));
  }

  /** A host's group, or the policy, changed: shares of flex guests are worth something else. */
  #recountHost(name: string): void {
    this.#hostSums.delete(name);
    for (const key of [...(this.#hosts.get(name)?.keys() ?? [])]) {
      const vm = this.#current('coppice.dev/vms', key) as VM | undefined;
      if (vm !== undefined) put(this.#hosts, name, key, hostShareOf(vm, this));
    }
  }

  #recountHosts(): void {
    for (const name of [...this.#hosts.keys()]) this.#recountHost(name);
  }
}

interface TenantSum {
  readonly amounts: QuotaAmounts;
  /** Whether some VM stands in for another, so that what one holds depends on the other. */
  readonly standIns: boolean;
}

/** Whoever it is of. */
type GuestShare = Omit<HostShare, 'guestID' | 'namespace'>;

interface HostSum {
  readonly use: HostUse;
  readonly guests: ReadonlySet<string>;
}

/** Each guest once, however many VMs name it: it holds the most that any of them says. */
function sumOfHost(shares: Iterable<HostShare>, without?: string): HostSum {
  const byGuest = new Map<string, GuestShare>();
  const namespaces = new Set<string>();
  for (const share of shares) {
    if (share.guestID === without) continue;
    namespaces.add(share.namespace);
    byGuest.set(share.guestID, larger(share, byGuest.get(share.guestID)));
  }
  let [microVCPUs, memoryBytes, diskBytes, macosGuests] = [0, 0, 0, 0];
  for (const share of byGuest.values()) {
    microVCPUs += share.microVCPUs;
    memoryBytes += share.memoryBytes;
    diskBytes += share.diskBytes;
    macosGuests += share.macosGuests;
  }
  const use = { guests: byGuest.size, microVCPUs, memoryBytes, diskBytes, macosGuests, namespaces };
  return { use, guests: new Set(byGuest.keys()) };
}

function larger(one: GuestShare, other: GuestShare | undefined): GuestShare {
  if (other === undefined) return one;
  return {
    microVCPUs: Math.max(one.microVCPUs, other.microVCPUs),
    memoryBytes: Math.max(one.memoryBytes, other.memoryBytes),
    diskBytes: Math.max(one.diskBytes, other.diskBytes),
    macosGuests: Math.max(one.macosGuests, other.macosGuests),
  };
}

function put<V>(table: Map<string, Map<string, V>>, row: string, key: string, value: V | undefined): void {
  if (value === undefined) return;
  entry(table, row, () => new Map<string, V>()).set(key, value);
}

const lesseeOf = (host: Host | undefined): string | undefined => host?.status?.lease?.namespace;
const openIn = (lease: Lease | undefined): string | undefined =>
  lease !== undefined && isOpen(lease) ? lease.metadata.namespace : undefined;

/** Takes a key out of the set of one row and puts it into that of another. */
function move(table: Map<string, Set<string>>, key: string, from: string | undefined, to: string | undefined): void {
  if (from === to) return;
  if (from !== undefined) {
    const row = table.get(from);
    row?.delete(key);
    if (row?.size === 0) table.delete(from);
  }
  if (to !== undefined) entry(table, to, () => new Set<string>()).add(key);
}
