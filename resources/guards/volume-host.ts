import type { Host } from '../kinds/host.ts';
import type { Volume } from '../kinds/volume.ts';
import { isTrue } from '../meta/condition.ts';
import { parseBytes, roughBytes } from '../meta/quantity.ts';
import { type Change, fence, type Guard, NO_FENCES, type Refusal } from './guard.ts';
import { isDraining } from './host-drain.ts';
import { waitsForScrub } from './host-scrub.ts';
import { isLessee } from './lessee.ts';
import { HOSTS, TENANTS } from './refs.ts';
import { standingRefusal } from './tenant-standing.ts';
import { volumeBytes } from './volume-facts.ts';
import type { WorldView } from './world.ts';

/** Which filter turned a host down for a volume, and how such hosts are told of. The order is the order they are asked in. */
export const VOLUME_FILTERS = {
  NotReady: 'not ready',
  Draining: 'being drained',
  Cordoned: 'cordoned',
  ScrubPending: 'waiting for a scrub',
  GroupMismatch: "not in the tenant's group",
  VolumesUnsupported: 'that attach no volumes',
  LeasedToOthers: 'leased to others',
  LeaseEnding: 'whose lease is over',
  InsufficientDisk: 'with too little disk',
} as const;
export type VolumeFilter = keyof typeof VOLUME_FILTERS;

export interface VolumeRefusal {
  readonly filter: VolumeFilter;
  /** One line with the numbers. */
  readonly message: string;
}

const refuse = (filter: VolumeFilter, message: string): VolumeRefusal => ({ filter, message });

/** Whether a volume can come to lie on a host: the filter of the volume duty and the guard of the binding are this one function. */
export function volumeRefusal(volume: Volume, host: Host, world: WorldView): VolumeRefusal | undefined {
  const { name } = host.metadata;
  const { namespace = '' } = volume.metadata;
  if (!isTrue(host, 'Ready')) return refuse('NotReady', `host ${name} is not ready`);
  if (isDraining(host)) return refuse('Draining', `host ${name} is being drained`);
  if (host.spec.cordoned === true) return refuse('Cordoned', `host ${name} is cordoned`);
  if (waitsForScrub(host)) return refuse('ScrubPending', `host ${name} waits for a scrub`);
  const group = world.get(TENANTS, undefined, namespace)?.spec.hostGroup;
  if (group !== undefined && host.spec.group !== group)
    return refuse('GroupMismatch', `host ${name} is in group ${host.spec.group}, the tenant is placed in ${group}`);
  if (!attachesVolumes(host)) return refuse('VolumesUnsupported', `the driver of host ${name} attaches no volumes`);
  const lease = host.status?.lease;
  if (lease !== undefined && !isLessee(host, namespace, world))
    return refuse('LeasedToOthers', `host ${name} is leased to another tenant`);
  // What begins there would be stranded there.
  if (lease?.ending === true || lease?.released === true)
    return refuse('LeaseEnding', `the lease of host ${name} is over`);
  const lack = diskLack(volume, host, world);
  return lack === undefined ? undefined : refuse('InsufficientDisk', lack);
}

/** Whether guests of a host can have volumes. */
export function attachesVolumes(host: Host): boolean {
  return host.status?.driver?.volumes === true;
}

/**
 * The disk of a host that is nobody's, in bytes. Volumes and the disks of VMs count at their full size though their files are sparse: a guest may fill its own at any
 * moment, and must find the room.
 */
export function freeDiskBytes(host: Host, world: WorldView, without?: Volume): number {
  const all = parseBytes(host.status?.allocatable?.disk ?? '0') ?? 0;
  let held = world.hostUse(host.metadata.name).diskBytes;
  for (const volume of world.volumesOn(host.metadata.name))
    if (volume.metadata.uid !== without?.metadata.uid) held += volumeBytes(volume);
  return all - held;
}

/** Why a volume that is to be as large as it says finds no room on its host. */
export function diskRefusal(volume: Volume, host: Host, world: WorldView): Refusal | undefined {
  const message = diskLack(volume, host, world);
  return message === undefined ? undefined : { answer: 'Forbidden', cause: 'InsufficientDisk', message };
}

function diskLack(volume: Volume, host: Host, world: WorldView): string | undefined {
  const free = freeDiskBytes(host, world, volume);
  const wants = volumeBytes(volume);
  if (wants <= free) return undefined;
  return `needs ${roughBytes(wants)} of disk; host ${host.metadata.name} has ${roughBytes(Math.max(0, free))} free`;
}

/** A volume comes to lie where it may, and stays there. */
export const volumeHost: Guard<Volume> = {
  name: 'volume-host',
  fences(change) {
    const host = hostGiven(change);
    if (host === undefined) return NO_FENCES;
    const { namespace = '' } = change.after?.metadata ?? {};
    return { bump: [fence.host(host)], compare: [fence.standing(namespace), fence.policy] };
  },
  judge(change, world) {
    const { after } = change;
    const name = hostGiven(change);
    if (after === undefined || name === undefined) return undefined;
    const { namespace = '' } = after.metadata;
    const standing = standingRefusal(namespace, world);
    if (standing !== undefined) return standing;
    if (world.get(TENANTS, undefined, namespace) === undefined) {
      const message = `no Tenant is named ${namespace}; the volume waits for it`;
      return { answer: 'Forbidden', cause: 'TenantNotFound', message };
    }
    const host = world.get(HOSTS, undefined, name);
    if (host === undefined) {
      const message = `Invalid value: "${name}": there is no such host`;
      return { answer: 'Invalid', field: 'spec.hostName', cause: 'FieldValueInvalid', message };
    }
    const refusal = volumeRefusal(after, host, world);
    return refusal && { answer: 'Forbidden', cause: refusal.filter, message: refusal.message };
  },
};

/** The host that the change gives the volume. */
function hostGiven({ before, after }: Change<Volume>): string | undefined {
  const host = after?.spec.hostName;
  return host === before?.spec.hostName ? undefined : host;
}
