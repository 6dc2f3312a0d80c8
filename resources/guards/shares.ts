import type { Policy } from '../kinds/policy.ts';
import type { VM } from '../kinds/vm.ts';
import { parseBytes } from '../meta/quantity.ts';
import { isLost } from './host-lost.ts';
import { HOSTS, POLICIES } from './refs.ts';
import type { WorldView } from './world.ts';

/** What one VM holds of its tenant's quota. */
export interface TenantShare extends QuotaAmounts {
  readonly uid: string;
  /** It stands in for this VM of the namespace: together they hold what the one of them does that holds more. */
  readonly standsInFor?: { readonly name: string; readonly uid: string };
}

export interface QuotaAmounts {
  readonly vms: number;
  readonly vcpus: number;
  readonly memoryBytes: number;
}

/** What one guest holds of its host. */
export interface HostShare {
  readonly guestID: string;
  readonly namespace: string;
  readonly microVCPUs: number;
  readonly memoryBytes: number;
  /** Its own disk, whether it runs or not. */
  readonly diskBytes: number;
  readonly macosGuests: number;
}

/** A guest of which nothing is left. */
export function guestIsGone(vm: VM): boolean {
  return vm.status?.guest?.power === 'Gone';
}

/** A guest that uses no processor and no memory: never started, or off. */
export function guestIsOff(vm: VM): boolean {
  const power = vm.status?.guest?.power;
  return power === undefined || power === 'Off' || power === 'Gone';
}

/** Its VM goes, was to run, and its host has not told of the guest: it may be starting this very moment, and holds what it would until its nodelet says that it is not. */
function mayBeStarting({ metadata, spec, status }: VM): boolean {
  return metadata.deletionTimestamp !== undefined && spec.power === 'Running' && status?.guest === undefined;
}

/** Undefined: it holds nothing (not admitted, or its guest is gone for good). */
export function tenantShareOf(vm: VM): TenantShare | undefined {
  const resolved = vm.spec.resolved;
  if (resolved === undefined || (guestIsGone(vm) && vm.metadata.deletionTimestamp !== undefined)) return undefined;
  const active = vm.spec.power === 'Running' || !(guestIsOff(vm) || vm.status?.guest?.power === 'Paused');
  const { standsInFor } = vm.spec;
  return {
    uid: vm.metadata.uid,
    ...(standsInFor === undefined ? {} : { standsInFor }),
    vms: 1,
    vcpus: active ? resolved.vcpus : 0,
    memoryBytes: active ? (parseBytes(resolved.memory) ?? 0) : 0,
  };
}

export const NONE: QuotaAmounts = { vms: 0, vcpus: 0, memoryBytes: 0 };

/**
 * What VMs of one namespace hold together: a VM and all that stands in for it what the one of them does that holds most. That is never more for one of them
 * that holds less: what a host tells of a guest that stopped or went takes nothing that others were given meanwhile. `shareOf`: what the VM of a name holds.
 */
export function sumOfShares(
  shares: Iterable<TenantShare>,
  shareOf: (name: string) => TenantShare | undefined,
): QuotaAmounts {
  let sum = NONE;
  const moves = new Map<string, { readonly name: string; readonly most: QuotaAmounts }>();
  for (const share of shares) {
    if (share.standsInFor === undefined) sum = moved(sum, NONE, share);
    else {
      const { name, uid } = share.standsInFor;
      moves.set(uid, { name, most: mostOf([share, moves.get(uid)?.most ?? NONE]) });
    }
  }
  for (const [uid, { name, most }] of moves) {
    const original = shareOf(name);
    const held = original?.uid === uid ? original : NONE;
    sum = moved(sum, held, mostOf([most, held]));
  }
  return sum;
}

/** A sum, when what one holds in it changes. */
export function moved(sum: QuotaAmounts, before: QuotaAmounts = NONE, after: QuotaAmounts = NONE): QuotaAmounts {
  return {
    vms: sum.vms - before.vms + after.vms,
    vcpus: sum.vcpus - before.vcpus + after.vcpus,
    memoryBytes: sum.memoryBytes - before.memoryBytes + after.memoryBytes,
  };
}

/** Of each the most that one of them holds. */
export function mostOf(shares: Iterable<QuotaAmounts>): QuotaAmounts {
  let [vms, vcpus, memoryBytes] = [0, 0, 0];
  for (const share of shares) {
    vms = Math.max(vms, share.vms);
    vcpus = Math.max(vcpus, share.vcpus);
    memoryBytes = Math.max(memoryBytes, share.memoryBytes);
  }
  return { vms, vcpus, memoryBytes };
}

/** What a bound guest holds. A paused guest keeps its memory on the host; one that is off and not wanted running holds nothing. */
export function hostShareOf(vm: VM, world: WorldView): HostShare | undefined {
  const resolved = vm.spec.resolved;
  if (resolved === undefined || vm.spec.hostName === undefined || isLost(vm)) return undefined;
  if (guestIsGone(vm) && vm.metadata.deletionTimestamp !== undefined) return undefined;
  const wantsOff = vm.spec.power === 'Stopped' || vm.metadata.deletionTimestamp !== undefined;
  const held = !(guestIsOff(vm) && wantsOff) || mayBeStarting(vm);
  const host = world.get(HOSTS, undefined, vm.spec.hostName);
  const policy = world.get(POLICIES, undefined, 'default');
  return {
    guestID: vm.spec.guestID ?? vm.metadata.uid,
    namespace: vm.metadata.namespace ?? '',
    microVCPUs: held ? microVCPUs(resolved.vcpus, vm.spec.class, flexShare(policy, host?.spec.group)) : 0,
    memoryBytes: held ? (parseBytes(resolved.memory) ?? 0) : 0,
    diskBytes: resolved.disk === undefined ? 0 : (parseBytes(resolved.disk) ?? 0),
    macosGuests: held && resolved.guestOS === 'macos' ? 1 : 0,
  };
}

/** The guaranteed share in millionths of a vCPU: all of it when reserved, a fraction when flex. */
export function microVCPUs(vcpus: number, vmClass: 'flex' | 'reserved', share: number): number {
  return Math.ceil(vcpus * (vmClass === 'reserved' ? 1 : share) * 1_000_000);
}

/** The guaranteed part of each vCPU of a flex VM in a group: a quarter unless the policy says else. */
export function flexShare(policy: Policy | undefined, group: string | undefined): number {
  const text = policy?.spec.hostGroups?.find((g) => g.name === group)?.flexShare ?? '1/4';
  return 1 / Number(text.slice(2));
}
