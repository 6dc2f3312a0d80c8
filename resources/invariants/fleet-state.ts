import { ownerSetOf } from '../guards/lease-set.ts';
import { HOSTS, LEASE_SETS, LEASES, POLICIES, TENANTS, VMS, VOLUMES } from '../guards/refs.ts';
import type { Host } from '../kinds/host.ts';
import type { Lease } from '../kinds/lease.ts';
import type { LeaseSet } from '../kinds/lease-set.ts';
import type { Policy } from '../kinds/policy.ts';
import type { Tenant } from '../kinds/tenant.ts';
import type { VM } from '../kinds/vm.ts';
import type { Volume } from '../kinds/volume.ts';
import { isTrue } from '../meta/condition.ts';
import { counted } from '../meta/counted.ts';
import type { KubeObject } from '../meta/object.ts';
import { resourceId } from '../meta/resource-id.ts';
import { Grouped } from './grouped.ts';
import { guestOf, mayHaveGuest, vmName } from './guest-facts.ts';
import type { Change } from './invariant.ts';

/** A guest whose VM object went while the guest was there, or may have been. */
export interface StrayGuest {
  readonly id: string;
  readonly host: string;
  /** Of the Host object that was there then: another one of that name is not it. */
  readonly hostUID: string;
  /** How violations name the VM it was. */
  readonly vm: string;
}

/** What is asked of the objects of one resource, whichever it is. */
interface Table {
  readonly size: number;
  get(key: string): KubeObject | undefined;
  set(key: string, object: KubeObject | undefined): void;
}

/** Strays that are remembered; whoever takes finalizers off by the thousand is told of these. */
const MOST_STRAYS = 10_000;

const alone = () => undefined;

/**
 * All objects that invariants are judged by, as of one revision, found by what they have to do with each other. It derives nothing but that, so that
 * whatever guards count wrongly is counted again here. What an invariant of another kind needs gets a table here.
 */
export class FleetState {
  readonly #vmsByHost = new Grouped<VM>((vm) => vm.spec.hostName);
  readonly #vmsByNamespace = new Grouped<VM>((vm) => vm.metadata.namespace);
  readonly #members = new Grouped<VM>((vm) => (vm.spec.claimable === true ? vm.metadata.namespace : undefined));
  readonly #vmsByGuest = new Grouped<VM>(guestOf);
  readonly #leasesByHost = new Grouped<Lease>((lease) => lease.status?.host);
  readonly #leasesByUID = new Grouped<Lease>((lease) => lease.metadata.uid);
  readonly #leasesBySet = new Grouped<Lease>((lease) => ownerSetOf(lease)?.uid);
  readonly #leaseSets = new Grouped<LeaseSet>(alone);
  readonly #hosts = new Grouped<Host>((host) => host.status?.lease?.namespace);
  readonly #volumesByHost = new Grouped<Volume>((volume) => volume.spec.hostName);
  readonly #volumesByNamespace = new Grouped<Volume>((volume) => volume.metadata.namespace);
  readonly #tenants = new Grouped<Tenant>(alone);
  readonly #policies = new Grouped<Policy>(alone);
  /** By the name of a host: how it was when its Host object went. */
  readonly #unclear = new Map<string, string>();
  readonly #strays = new Grouped<StrayGuest>((stray) => stray.host);
  /** The first of each has all of them. */
  readonly #tables: ReadonlyMap<string, readonly [Table, ...Table[]]> = new Map([
    [resourceId(VMS), [this.#vmsByHost, this.#vmsByNamespace, this.#members, this.#vmsByGuest]],
    [resourceId(LEASES), [this.#leasesByHost, this.#leasesByUID, this.#leasesBySet]],
    [resourceId(LEASE_SETS), [this.#leaseSets]],
    [resourceId(VOLUMES), [this.#volumesByHost, this.#volumesByNamespace]],
    [resourceId(HOSTS), [this.#hosts]],
    [resourceId(TENANTS), [this.#tenants]],
    [resourceId(POLICIES), [this.#policies]],
  ]);

  /** How many objects there are. */
  get size(): number {
    return [...this.#tables.values()].reduce((sum, [table]) => sum + table.size, 0);
  }

  host(name: string): Host | undefined {
    return this.#hosts.get(name);
  }

  hosts(): Iterable<Host> {
    return this.#hosts.all();
  }

  /** Hosts that are leased to a namespace, or held for it until a minimum is over. */
  hostsLeasedTo(namespace: string): readonly Host[] {
    return this.#hosts.in(namespace);
  }

  tenant(name: string): Tenant | undefined {
    return this.#tenants.get(name);
  }

  tenants(): Iterable<Tenant> {
    return this.#tenants.all();
  }

  policy(): Policy | undefined {
    return this.#policies.get('default');
  }

  /** Why the machine of a Host that was made anew may have something of a tenant on it still: how the one before it was given up. */
  unclear(host: string): string | undefined {
    return this.#unclear.get(host);
  }

  vm(key: string): VM | undefined {
    return this.#vmsByHost.get(key);
  }

  vmsOn(host: string): readonly VM[] {
    return this.#vmsByHost.in(host);
  }

  volume(key: string): Volume | undefined {
    return this.#volumesByHost.get(key);
  }

  /** Volumes that name a host, whatever is left of them. */
  volumesOn(host: string): readonly Volume[] {
    return this.#volumesByHost.in(host);
  }

  volumesOf(namespace: string): readonly Volume[] {
    return this.#volumesByNamespace.in(namespace);
  }

  vmsOf(namespace: string): readonly VM[] {
    return this.#vmsByNamespace.in(namespace);
  }

  /** VMs of a namespace that wait to be taken. */
  membersOf(namespace: string): readonly VM[] {
    return this.#members.in(namespace);
  }

  /** VMs that say a guest is theirs. */
  vmsNaming(guestID: string): readonly VM[] {
    return this.#vmsByGuest.in(guestID);
  }

  /** Leases whose status names a host, whatever their phase. */
  leasesOn(host: string): readonly Lease[] {
    return this.#leasesByHost.in(host);
  }

  lease(key: string): Lease | undefined {
    return this.#leasesByHost.get(key);
  }

  leaseSet(key: string): LeaseSet | undefined {
    return this.#leaseSets.get(key);
  }

  /** Leases that a set controls, by its uid. */
  leasesOfSet(uid: string): readonly Lease[] {
    return this.#leasesBySet.in(uid);
  }

  leaseByUID(uid: string): Lease | undefined {
    return this.#leasesByUID.in(uid)[0];
  }

  /** Guests of a host whose VM objects went before them, and of which it is not known yet what became of them. */
  straysOn(host: string): readonly StrayGuest[] {
    return this.#strays.in(host);
  }

  /** An object of a resource (`coppice.dev/vms`) by its key. */
  get(resource: string, key: string): KubeObject | undefined {
    return this.#tables.get(resource)?.[0].get(key);
  }

  /** Takes over what objects have become in one revision. Changes of resources that no invariant is about are passed over. */
  apply(changes: readonly Change[]): void {
    for (const { resource, key, after } of changes) {
      for (const table of this.#tables.get(resource) ?? []) table.set(key, after);
    }
    for (const { resource, before, after } of changes) {
      if (resource === resourceId(HOSTS)) {
        this.#remember(before as Host | undefined, after as Host | undefined);
        this.#settle(before as Host | undefined, after as Host | undefined);
      }
      if (resource !== resourceId(VMS)) continue;
      if (after !== undefined) this.#strays.set(guestOf(after as VM), undefined);
      else if (before !== undefined) this.#bereave(before as VM);
    }
  }

  /** A machine that was given up before it was cleared is not known to be clear until it waits for a scrub again, or had one. */
  #remember(before: Host | undefined, after: Host | undefined): void {
    const was = after === undefined ? before && this.#unclearWhy(before) : undefined;
    if (was !== undefined && this.#unclear.size < MOST_STRAYS) this.#unclear.set(before?.metadata.name ?? '', was);
    if (after === undefined) return;
    const scrubbed = after.status?.scrub?.outcome === 'Succeeded' && before?.metadata.uid === after.metadata.uid;
    if (scrubbed || isTrue(after, 'ScrubPending')) this.#unclear.delete(after.metadata.name);
  }

  #unclearWhy(host: Host): string | undefined {
    const { lease, orphans = [] } = host.status ?? {};
    if (lease !== undefined) return `leased to ${lease.namespace} by lease ${lease.name}`;
    if (isTrue(host, 'ScrubPending')) return 'waiting for a scrub';
    const guests = this.vmsOn(host.metadata.name).filter(mayHaveGuest).length + orphans.length;
    if (guests === 0 && this.#keptOn(host).length > 0) return 'with volumes on it';
    return guests === 0 ? undefined : `with ${counted(guests, 'guest')} on it`;
  }

  /** Volumes of this very host that have their data. */
  #keptOn({ metadata }: Host): readonly Volume[] {
    const kept = ({ status }: Volume) => status?.phase !== 'Lost' && status?.hostUID === metadata.uid;
    return this.volumesOn(metadata.name).filter(kept);
  }

  /** What became of the strays of a host is known when it tells of them, when it was scrubbed, and when it was given up. */
  #settle(before: Host | undefined, after: Host | undefined): void {
    const scrub = after?.status?.scrub;
    const scrubbed = scrub?.outcome === 'Succeeded' && before?.status?.scrub?.finishedAt !== scrub.finishedAt;
    const told = new Set(after?.status?.orphans?.map(({ id }) => id));
    for (const { id, hostUID } of this.straysOn((after ?? before)?.metadata.name ?? '')) {
      if (scrubbed || told.has(id) || after?.metadata.uid !== hostUID) this.#strays.set(id, undefined);
    }
  }

  #bereave(vm: VM): void {
    const id = guestOf(vm);
    const host = this.host(vm.spec.hostName ?? '');
    if (host === undefined || !mayHaveGuest(vm) || this.#strays.size >= MOST_STRAYS) return;
    if (this.vmsNaming(id).length > 0 || host.status?.orphans?.some((orphan) => orphan.id === id) === true) return;
    this.#strays.set(id, { id, host: host.metadata.name, hostUID: host.metadata.uid, vm: vmName(vm) });
  }
}
