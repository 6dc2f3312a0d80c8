import { roughBytes } from '../meta/quantity.ts';
import { vmName } from './guest-facts.ts';
import { bytesIn, type HostRoom, hostsTouched, namesOf, roomOf } from './host-room.ts';
import type { Finding, Invariant } from './invariant.ts';

/** Guards count in whole millionths of a vCPU. */
const VCPU_ROUNDING = 1e-5;

/**
 * Judged when a VM comes to hold more: a host may well offer less than before, because guests that nobody names were found on it, and that takes nothing
 * from the VMs that are there. More memory than the machine has is wrong however it came about.
 */
export const withinAllocatable: Invariant = {
  name: 'within-allocatable',
  sentence:
    'VMs are assigned no more of a host than it can allocate: memory always, and of vCPUs what their class is guaranteed.',
  subjects: hostsTouched,

  findings(name, step) {
    const room = roomOf(name, step);
    if (room === undefined) return [];
    const found = [memory(room, step.first), vcpus(room, step.first)];
    return found.filter((finding) => finding !== undefined);
  },
};

function memory(room: HostRoom, first: boolean): Finding | undefined {
  const { held, host } = room;
  const has = bytesIn(host.status?.capacity?.memory);
  if (has !== undefined && held.memoryBytes > has)
    return found(room, 'memory of the machine', `${roughBytes(held.memoryBytes)} memory`, roughBytes(has));
  const offers = bytesIn(host.status?.allocatable?.memory);
  if (offers === undefined || held.memoryBytes <= offers || room.takers.length === 0) return undefined;
  return found(room, 'memory', `${roughBytes(held.memoryBytes)} memory`, roughBytes(offers), first);
}

function vcpus(room: HostRoom, first: boolean): Finding | undefined {
  const { held, host } = room;
  const offers = host.status?.allocatable?.vcpus;
  if (offers === undefined || held.vcpus <= offers + VCPU_ROUNDING || room.takers.length === 0) return undefined;
  return found(room, 'vCPUs', `${Number(held.vcpus.toFixed(3))} guaranteed vCPUs`, String(offers), first);
}

function found(room: HostRoom, key: string, assigned: string, offers: string, standing = false): Finding {
  const { host, vms } = room;
  const { name } = host.metadata;
  const can = key === 'memory of the machine' ? 'has' : 'can allocate';
  return {
    key,
    message: `host ${name} ${can} ${offers}, and ${assigned} are assigned: ${namesOf(vms)}`,
    objects: [`host/${name}`, ...vms.map(vmName).sort()],
    ...(standing ? { standing } : {}),
  };
}
