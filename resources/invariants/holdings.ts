import type { Policy } from '../kinds/policy.ts';
import type { VM } from '../kinds/vm.ts';
import { parseBytes } from '../meta/quantity.ts';
import { guestOf, isGone, isOn, isThere } from './guest-facts.ts';

/** What one VM, or several, have of a quota or of a host. */
export interface Held {
  readonly vms: number;
  readonly vcpus: number;
  readonly memoryBytes: number;
  readonly macosGuests: number;
}

export const NOTHING: Held = { vms: 0, vcpus: 0, memoryBytes: 0, macosGuests: 0 };

/**
 * Of its tenant's quota: an admitted VM counts until its guest is gone, its processors and memory while it should run or its guest is not off yet. A guest
 * that is paused counts as off.
 */
export function heldOfQuota(vm: VM | undefined): Held {
  const resolved = vm?.spec.resolved;
  if (vm === undefined || resolved === undefined || isGone(vm)) return NOTHING;
  const busy = vm.spec.power === 'Running' || (isOn(vm) && vm.status?.guest?.power !== 'Paused');
  if (!busy) return { ...NOTHING, vms: 1 };
  return { vms: 1, vcpus: resolved.vcpus, memoryBytes: bytesOf(resolved.memory), macosGuests: 0 };
}

/** What VMs hold together of which some stand in for others: each with all that stand in for it what the one of them does that holds most. */
export function heldTogether(vms: Iterable<VM>): Held {
  const held = new Map<string, Held>();
  for (const vm of vms) {
    const uid = vm.spec.standsInFor?.uid ?? vm.metadata.uid;
    held.set(uid, mostOf(held.get(uid) ?? NOTHING, heldOfQuota(vm)));
  }
  return sumOf(held.values());
}

function mostOf(a: Held, b: Held): Held {
  return {
    vms: Math.max(a.vms, b.vms),
    vcpus: Math.max(a.vcpus, b.vcpus),
    memoryBytes: Math.max(a.memoryBytes, b.memoryBytes),
    macosGuests: 0,
  };
}

/** Of the host it is bound to: all of it while its guest is not off, or is to be on. `vcpus` are those guaranteed: a part of each for class flex. */
export function heldOfHost(vm: VM | undefined, policy: Policy | undefined, group: string | undefined): Held {
  const resolved = vm?.spec.resolved;
  if (vm === undefined || resolved === undefined || !isThere(vm)) return NOTHING;
  const wanted = vm.spec.power !== 'Stopped' && vm.metadata.deletionTimestamp === undefined;
  if (!wanted && !isOn(vm)) return { ...NOTHING, vms: 1 };
  return {
    vms: 1,
    vcpus: vm.spec.class === 'reserved' ? resolved.vcpus : resolved.vcpus / guaranteedOneIn(policy, group),
    memoryBytes: bytesOf(resolved.memory),
    macosGuests: resolved.guestOS === 'macos' ? 1 : 0,
  };
}

/** The sum over VMs. */
export function sumOf(held: Iterable<Held>): Held {
  let sum = NOTHING;
  for (const each of held) {
    sum = {
      vms: sum.vms + each.vms,
      vcpus: sum.vcpus + each.vcpus,
      memoryBytes: sum.memoryBytes + each.memoryBytes,
      macosGuests: sum.macosGuests + each.macosGuests,
    };
  }
  return sum;
}

/** One VM for each guest: while a guest passes from one VM to another, two name it. Of those the one that stays counts. */
export function onePerGuest(vms: Iterable<VM>): readonly VM[] {
  const byGuest = new Map<string, VM>();
  for (const vm of vms) {
    const other = byGuest.get(guestOf(vm));
    if (other === undefined || other.metadata.deletionTimestamp !== undefined) byGuest.set(guestOf(vm), vm);
  }
  return [...byGuest.values()];
}

/** A flex VM is guaranteed one in so many parts of each vCPU: four unless the policy says else for the group. */
function guaranteedOneIn(policy: Policy | undefined, group: string | undefined): number {
  const share = policy?.spec.hostGroups?.find(({ name }) => name === group)?.flexShare;
  return Number(/^1\/([0-9]+)$/.exec(share ?? '')?.[1] ?? 4);
}

function bytesOf(quantity: string): number {
  return parseBytes(quantity) ?? 0;
}
