import { HOSTS, POLICIES, VMS } from '../guards/refs.ts';
import type { Host } from '../kinds/host.ts';
import type { VM } from '../kinds/vm.ts';
import { firstOf } from '../meta/first-of.ts';
import { parseBytes } from '../meta/quantity.ts';
import { vmName } from './guest-facts.ts';
import { type Held, heldOfHost, onePerGuest, sumOf } from './holdings.ts';
import type { Step } from './invariant.ts';
import { changesOf, guestBefore, vmChangesOn } from './step-changes.ts';

/** A host, what is held of it, and the VMs that hold more of it since this step. */
export interface HostRoom {
  readonly host: Host;
  readonly held: Held;
  readonly vms: readonly VM[];
  /** Empty when a host or the policy changed under VMs that were there: nothing was given out that there was not. */
  readonly takers: readonly VM[];
}

/** Hosts whose room may have become another. */
export function* hostsTouched(step: Step): Iterable<string> {
  for (const { key } of changesOf(step, HOSTS)) yield key;
  for (const { before, after } of changesOf(step, VMS)) {
    for (const vm of [before, after]) if (vm?.spec.hostName !== undefined) yield vm.spec.hostName;
  }
  if (changesOf(step, POLICIES).length > 0) for (const { metadata } of step.state.hosts()) yield metadata.name;
}

/** Counted from the objects; undefined when there is no such host. In the first step every VM is taken to have come to hold what it does. */
export function roomOf(name: string, step: Step): HostRoom | undefined {
  const { state } = step;
  const host = state.host(name);
  if (host === undefined) return undefined;
  const heldBy = (vm: VM | undefined) =>
    vm?.spec.hostName === name ? heldOfHost(vm, state.policy(), host.spec.group) : heldOfHost(undefined, undefined, '');
  const vms = onePerGuest(state.vmsOn(name));
  const takers = vmChangesOn(step, name).flatMap(({ before, after }) => {
    // What its guest held already, whoever it was of.
    const [was, is] = [heldBy(after && (guestBefore(step, name, after) ?? before)), heldBy(after)];
    const more = is.memoryBytes > was.memoryBytes || is.vcpus > was.vcpus || is.macosGuests > was.macosGuests;
    return after !== undefined && more ? [after] : [];
  });
  return { host, held: sumOf(vms.map(heldBy)), vms: vms.filter((vm) => heldBy(vm).memoryBytes > 0), takers };
}

/** A few names, and how many more there are. */
export function namesOf(vms: readonly VM[]): string {
  return firstOf(vms.map(vmName).sort(), 5);
}

export function bytesIn(quantity: string | undefined): number | undefined {
  return quantity === undefined ? undefined : parseBytes(quantity);
}
