import type { Host } from '../kinds/host.ts';
import type { VM } from '../kinds/vm.ts';
import { isTrue } from '../meta/condition.ts';
import { jsonEqual } from '../meta/object.ts';
import { parseBytes, roughBytes } from '../meta/quantity.ts';
import { matchesLabels } from '../meta/selector.ts';
import { type Change, fence, type Guard, NO_FENCES } from './guard.ts';
import { isDraining } from './host-drain.ts';
import { waitsForScrub } from './host-scrub.ts';
import { isLessee } from './lessee.ts';
import { poolOf } from './pool-members.ts';
import { HOSTS, POLICIES, TENANTS } from './refs.ts';
import { flexShare, guestIsGone, guestIsOff, microVCPUs } from './shares.ts';
import { volumesRefusal } from './vm-volumes.ts';
import type { WorldView } from './world.ts';

/** Which filter turned a host down. The order is the order they are asked in. */
export const HOST_FILTERS = [
  'VolumeNotFound',
  'VolumeNotReady',
  'VolumeElsewhere',
  'VolumesUnsupported',
  'NotReady',
  'Draining',
  'Cordoned',
  'ScrubPending',
  'SelectorMismatch',
  'GroupMismatch',
  'GuestOSUnsupported',
  'ImageMissing',
  'LeasedToOthers',
  'LeaseRequired',
  'LeaseEnding',
  'MacSlotLimit',
  'InsufficientMemory',
  'InsufficientVCPUs',
] as const;
export type HostFilter = (typeof HOST_FILTERS)[number];

interface HostRefusal {
  readonly filter: HostFilter;
  /** One line with the numbers. */
  readonly message: string;
}

/** What a VM asks of a host. */
export interface Wish {
  readonly vm: VM;
  readonly resolved: NonNullable<VM['spec']['resolved']>;
}

/**
 * Whether a host can take a VM now: the placement filter and the guard of the binding are this one function.
 * A VM that is bound there already is judged without its own share.
 */
export function hostRefusal(wish: Wish, host: Host, world: WorldView): HostRefusal | undefined {
  const refuse = (filter: HostFilter, message: string): HostRefusal => ({ filter, message });
  const name = host.metadata.name;
  const volumes = volumesRefusal(wish.vm, wish.resolved.guestOS, host, world);
  if (volumes !== undefined) return volumes;
  if (!isTrue(host, 'Ready')) return refuse('NotReady', `host ${name} is not ready`);
  if (isDraining(host)) return refuse('Draining', `host ${name} is being drained`);
  if (host.spec.cordoned === true) return refuse('Cordoned', `host ${name} is cordoned`);
  if (waitsForScrub(host)) return refuse('ScrubPending', `host ${name} waits for a scrub`);
  return (
    wishRefusal(wish, host, world, refuse) ??
    leaseRefusal(wish, host, world, refuse) ??
    roomRefusal(wish, host, world, refuse)
  );
}

type Refuse = (filter: HostFilter, message: string) => HostRefusal;

function wishRefusal({ vm, resolved }: Wish, host: Host, world: WorldView, refuse: Refuse): HostRefusal | undefined {
  const name = host.metadata.name;
  if (vm.spec.hostSelector !== undefined && !matchesLabels(vm.spec.hostSelector, host.metadata.labels ?? {})) {
    return refuse('SelectorMismatch', `host ${name} does not match spec.hostSelector`);
  }
  const group = world.get(TENANTS, undefined, vm.metadata.namespace ?? '')?.spec.hostGroup;
  if (group !== undefined && host.spec.group !== group) {
    return refuse('GroupMismatch', `host ${name} is in group ${host.spec.group}, the tenant is placed in ${group}`);
  }
  if (host.status?.driver?.guestOS.includes(resolved.guestOS) !== true) {
    return refuse('GuestOSUnsupported', `host ${name} cannot run ${resolved.guestOS} guests`);
  }
  const held = host.status.images?.find((image) => image.name === vm.spec.image);
  if (held?.digest !== resolved.digest)
    return refuse('ImageMissing', `host ${name} does not have image ${vm.spec.image}`);
  return undefined;
}

function leaseRefusal({ vm, resolved }: Wish, host: Host, world: WorldView, refuse: Refuse): HostRefusal | undefined {
  const policy = world.get(POLICIES, undefined, 'default');
  const lessee = host.status?.lease?.namespace;
  const own = isLessee(host, vm.metadata.namespace ?? '', world);
  const name = host.metadata.name;
  if (lessee !== undefined && vm.spec.claimable === true && poolOf(vm, world)?.spec.shared === true) {
    return refuse('LeasedToOthers', `host ${name} is leased; members of a shared pool run where nobody leases`);
  }
  if (lessee !== undefined && !own && policy?.spec.exclusiveLeasedHosts !== false) {
    return refuse('LeasedToOthers', `host ${name} is leased to another tenant`);
  }
  if (resolved.guestOS === 'macos' && !own && policy?.spec.requireLeaseForMacOS !== false) {
    return refuse(
      'LeaseRequired',
      `macOS guests need a Lease of the Mac they run on; ${vm.metadata.namespace} does not lease ${name}`,
    );
  }
  if (host.status?.lease?.ending === true) return refuse('LeaseEnding', `the lease of host ${name} is over`);
  return undefined;
}

function roomRefusal({ vm, resolved }: Wish, host: Host, world: WorldView, refuse: Refuse): HostRefusal | undefined {
  // The guest it has there, or takes over, is not besides it.
  const use = world.hostUse(host.metadata.name, vm.spec.guestID ?? vm.metadata.uid);
  const name = host.metadata.name;
  if (resolved.guestOS === 'macos' && use.macosGuests >= usableSlots(host)) {
    const { total: slots = 0, leaked = 0 } = host.status?.macosSlots ?? {};
    const lost = leaked === 0 ? '' : `, ${leaked} of them leaked`;
    return refuse('MacSlotLimit', `host ${name} has ${slots} macOS slots, all in use${lost}`);
  }
  const room = host.status?.allocatable;
  const memory = (parseBytes(room?.memory ?? '0') ?? 0) - use.memoryBytes;
  const wanted = parseBytes(resolved.memory) ?? 0;
  if (wanted > memory) {
    return refuse(
      'InsufficientMemory',
      `needs ${roughBytes(wanted)} memory; host ${name} has ${roughBytes(Math.max(0, memory))} free`,
    );
  }
  const share = flexShare(world.get(POLICIES, undefined, 'default'), host.spec.group);
  const micro = microVCPUs(resolved.vcpus, vm.spec.class, share);
  const free = (room?.vcpus ?? 0) * 1_000_000 - use.microVCPUs;
  if (micro > free || resolved.vcpus > (room?.vcpus ?? 0)) {
    const offered = micro > free ? `${Math.max(0, free) / 1e6} guaranteed` : `${room?.vcpus ?? 0}`;
    const asked = micro > free ? `${micro / 1e6} guaranteed` : `${resolved.vcpus}`;
    return refuse('InsufficientVCPUs', `needs ${asked} vCPUs; host ${name} has ${offered}`);
  }
  return undefined;
}

/** How many macOS guests can run on a host. */
export function usableSlots(host: Host): number {
  const { total = 0, leaked = 0 } = host.status?.macosSlots ?? {};
  return Math.max(0, total - leaked);
}

/** Binding a VM, and starting a bound one again: judged by what the host has left. */
export const hostRoom: Guard<VM> = {
  name: 'host-room',
  fences(change) {
    const host = change.after?.spec.hostName;
    return host !== undefined && takes(change) ? { bump: [fence.host(host)], compare: [fence.policy] } : NO_FENCES;
  },
  judge(change, world) {
    const { after } = change;
    if (after?.spec.hostName === undefined || !takes(change)) return undefined;
    const host = world.get(HOSTS, undefined, after.spec.hostName);
    if (host === undefined) {
      return {
        answer: 'Invalid',
        field: 'spec.hostName',
        cause: 'FieldValueInvalid',
        message: `Invalid value: "${after.spec.hostName}": there is no such host`,
      };
    }
    if (after.spec.resolved === undefined) {
      return { answer: 'Forbidden', cause: 'NotAdmitted', message: 'a VM that is not admitted cannot be bound' };
    }
    const refusal = hostRefusal({ vm: after, resolved: after.spec.resolved }, host, world);
    return refusal && { answer: 'Forbidden', cause: refusal.filter, message: refusal.message };
  },
};

/** Whether the change makes a guest hold room on a host where it held none. */
function takes({ before, after }: Change<VM>): boolean {
  if (after?.spec.hostName === undefined || after.metadata.deletionTimestamp !== undefined || guestIsGone(after))
    return false;
  if (before?.spec.hostName !== after.spec.hostName) return true;
  const held = (vm: VM) => !(vm.spec.power === 'Stopped' && guestIsOff(vm));
  return before !== undefined && !held(before) && held(after);
}

/** A host's own changes that bindings are judged by; heartbeats are none of them. */
export const hostFacts: Guard<Host> = {
  name: 'host-facts',
  fences({ before, after }) {
    const facts = (host: Host | undefined) =>
      host && {
        spec: host.spec,
        labels: host.metadata.labels,
        allocatable: host.status?.allocatable,
        lease: host.status?.lease,
        scrub: waitsForScrub(host),
        slots: usableSlots(host),
        ready: isTrue(host, 'Ready'),
        volumes: host.status?.driver?.volumes,
      };
    const name = (after ?? before)?.metadata.name ?? '';
    return jsonEqual(facts(before), facts(after)) ? NO_FENCES : { bump: [fence.host(name)], compare: [] };
  },
  judge: () => undefined,
};
