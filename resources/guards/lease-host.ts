import type { Host } from '../kinds/host.ts';
import type { Lease } from '../kinds/lease.ts';
import { isTrue } from '../meta/condition.ts';
import { counted } from '../meta/counted.ts';
import { parseBytes, roughBytes } from '../meta/quantity.ts';
import { matchesLabels } from '../meta/selector.ts';
import { isDraining } from './host-drain.ts';
import { waitsForScrub } from './host-scrub.ts';
import { isLessee } from './lessee.ts';
import { POLICIES, TENANTS } from './refs.ts';
import type { WorldView } from './world.ts';

/** Which filter turned a host down for a lease, and how many hosts are told of. The order is the order they are asked in. */
export const LEASE_FILTERS = {
  NotNamed: 'of another name',
  NotAMac: 'no Macs',
  SelectorMismatch: 'not matching spec.selector',
  GroupMismatch: "not in the tenant's group",
  InsufficientVCPUs: 'with too few vCPUs',
  InsufficientMemory: 'with too little memory',
  NestedUnsupported: 'that cannot nest guests',
  LeasedToOthers: 'leased to others',
  AlreadyLeased: 'leased to this tenant already',
  LeaseEnding: 'held for this tenant, but about to be let go',
  NotReady: 'not ready',
  Draining: 'being drained',
  Cordoned: 'cordoned',
  ScrubPending: 'waiting for a scrub',
  VolumesOfOthers: 'with volumes of others',
  GuestsOfOthers: 'with VMs of others',
  Busy: 'with VMs',
} as const;
export type LeaseFilter = keyof typeof LEASE_FILTERS;

export interface LeaseRefusal {
  readonly filter: LeaseFilter;
  /** One line with the numbers. */
  readonly message: string;
}

/**
 * Whether a lease can have a host now: the filter of the lease duty and the guard of the grant are this one function. A host that is held for the lessee
 * until a minimum is over is had as it is, with what runs on it.
 */
export function leaseRefusal(lease: Lease, host: Host, world: WorldView): LeaseRefusal | undefined {
  return (
    sizeRefusal(lease, host, world) ?? (takesOver(lease, host, world) ? undefined : standingRefusal(lease, host, world))
  );
}

/**
 * Whether the host is held for the lessee since a Lease of it was deleted, for its next one to take over. A tenant that was made anew under the name is
 * another one, whose the host is not before it was cleared.
 */
export function takesOver({ metadata }: Lease, host: Host, world: WorldView): boolean {
  const { namespace = '' } = metadata;
  const { released, ending } = host.status?.lease ?? {};
  if (released !== true || ending === true || !isLessee(host, namespace, world)) return false;
  return world.get(TENANTS, undefined, namespace) !== undefined;
}

/**
 * Whether a host that waits for a scrub may be leased without one: to the tenant whose lease it was last, for the sake of volumes of it that are stranded there. All that is on
 * it is that tenant's own. Not once a scrub is at work, or takes the volumes.
 */
export function returnsTo(namespace: string, host: Host, world: WorldView): boolean {
  const { pastLeases = [], scrub, orphans = [] } = host.status ?? {};
  const last = pastLeases.at(-1);
  if (last === undefined || last.namespace !== namespace || last.scrubbedAt !== undefined || orphans.length > 0)
    return false;
  if (scrub?.outcome === 'Running' || (scrub?.outcome === 'Waiting' && scrub.takesVolumes === true)) return false;
  const tenant = world.get(TENANTS, undefined, namespace);
  if (tenant === undefined || Date.parse(tenant.metadata.creationTimestamp) > Date.parse(last.since)) return false;
  const volumes = [...world.volumesOn(host.metadata.name)];
  return volumes.length > 0 && volumes.every(({ metadata }) => metadata.namespace === namespace);
}

const refuse = (filter: LeaseFilter, message: string): LeaseRefusal => ({ filter, message });

/** What of the machine is not as the lease asks, whoever has it: that changes seldom. */
export function sizeRefusal(lease: Lease, host: Host, world: WorldView): LeaseRefusal | undefined {
  const { spec } = lease;
  const { name, labels = {} } = host.metadata;
  if (spec.hostName !== undefined && spec.hostName !== name)
    return refuse('NotNamed', `host ${name} is not spec.hostName ${spec.hostName}`);
  if (spec.anyHost !== true && host.status?.os !== 'darwin') return refuse('NotAMac', `host ${name} is not a Mac`);
  if (spec.selector !== undefined && !matchesLabels(spec.selector, labels))
    return refuse('SelectorMismatch', `host ${name} does not match spec.selector`);
  const group = world.get(TENANTS, undefined, lease.metadata.namespace ?? '')?.spec.hostGroup;
  if (group !== undefined && host.spec.group !== group)
    return refuse('GroupMismatch', `host ${name} is in group ${host.spec.group}, the tenant is placed in ${group}`);
  const room = { vcpus: host.status?.allocatable?.vcpus ?? 0, memory: bytes(host.status?.allocatable?.memory) };
  if ((spec.minVCPUs ?? 0) > room.vcpus)
    return refuse('InsufficientVCPUs', `needs ${spec.minVCPUs} vCPUs; host ${name} has ${room.vcpus}`);
  if (bytes(spec.minMemory) > room.memory)
    return refuse('InsufficientMemory', `needs ${spec.minMemory}; host ${name} has ${roughBytes(room.memory)}`);
  if (spec.nested === true && host.status?.nested !== true)
    return refuse('NestedUnsupported', `guests of host ${name} cannot run guests`);
  return undefined;
}

/** Whether it is free. */
function standingRefusal(lease: Lease, host: Host, world: WorldView): LeaseRefusal | undefined {
  const { name } = host.metadata;
  const { namespace = '' } = lease.metadata;
  const held = host.status?.lease;
  if (held !== undefined && held.namespace !== namespace)
    return refuse('LeasedToOthers', `host ${name} is leased to another tenant`);
  if (held?.ending === true)
    return refuse('LeaseEnding', `lease ${held.name} of host ${name} is over, and it is about to be let go`);
  if (held !== undefined) return refuse('AlreadyLeased', `host ${name} is leased by lease ${held.name} already`);
  if (!isTrue(host, 'Ready')) return refuse('NotReady', `host ${name} is not ready`);
  if (isDraining(host)) return refuse('Draining', `host ${name} is being drained`);
  if (host.spec.cordoned === true) return refuse('Cordoned', `host ${name} is cordoned`);
  if (waitsForScrub(host) && !returnsTo(namespace, host, world))
    return refuse('ScrubPending', `host ${name} waits for a scrub`);
  const strangers = new Set([...world.volumesOn(name)].map(({ metadata }) => metadata.namespace ?? ''));
  strangers.delete(namespace);
  if (strangers.size > 0)
    return refuse('VolumesOfOthers', `host ${name} has volumes of ${counted(strangers.size, 'other tenant')}`);
  const { namespaces, guests } = world.hostUse(name);
  const alone = world.get(POLICIES, undefined, 'default')?.spec.exclusiveLeasedHosts !== false;
  const others = [...namespaces].filter((each) => each !== namespace);
  if (others.length > 0 && (alone || lease.spec.allowBusy !== true))
    return refuse('GuestsOfOthers', `host ${name} runs VMs of ${counted(others.length, 'other tenant')}`);
  const orphans = host.status?.orphans?.length ?? 0;
  if (orphans > 0) return refuse('Busy', `host ${name} has ${counted(orphans, 'guest')} that no VM names`);
  if (guests > 0 && lease.spec.allowBusy !== true) return refuse('Busy', `host ${name} has ${counted(guests, 'VM')}`);
  return undefined;
}

function bytes(quantity: string | undefined): number {
  return parseBytes(quantity ?? '0') ?? 0;
}

/** The smaller of two hosts first, then by name. */
export function bySize(a: Host, b: Host): number {
  const vcpus = (host: Host) => host.status?.allocatable?.vcpus ?? 0;
  const memory = (host: Host) => bytes(host.status?.allocatable?.memory);
  return vcpus(a) - vcpus(b) || memory(a) - memory(b) || (a.metadata.name < b.metadata.name ? -1 : 1);
}
