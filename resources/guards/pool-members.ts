import type { Pool } from '../kinds/pool.ts';
import type { VM } from '../kinds/vm.ts';
import { isTrue } from '../meta/condition.ts';
import { jsonEqual, type OwnerReference } from '../meta/object.ts';
import { parseBytes } from '../meta/quantity.ts';
import { matchesLabels } from '../meta/selector.ts';
import { HOSTS, POLICIES, POOLS } from './refs.ts';
import type { WorldView } from './world.ts';

/** On a member: the name of its pool. */
export const POOL_LABEL = 'coppice.dev/pool';

/** Members are named `POOL-xxxxx`. */
export const MEMBER_SUFFIX_LENGTH = 5;

/** Which Pool controls a VM that is kept warm; undefined for all other VMs. */
export function poolRefOf(vm: VM): OwnerReference | undefined {
  if (vm.spec.claimable !== true) return undefined;
  return vm.metadata.ownerReferences?.find((owner) => owner.controller === true && owner.kind === 'Pool');
}

/** The Pool of a member, while it is there. */
export function poolOf(member: VM, world: WorldView): Pool | undefined {
  const owner = poolRefOf(member);
  const pool = owner && world.get(POOLS, member.metadata.namespace, owner.name);
  return pool?.metadata.uid === owner?.uid ? pool : undefined;
}

/** Whether a member is up and waits to be taken. One that is stopped, unwell, outdated in its binding or on its way out is not idle. */
export function isIdle(vm: VM): boolean {
  const { metadata, spec, status } = vm;
  if (poolRefOf(vm) === undefined || metadata.deletionTimestamp !== undefined) return false;
  if (spec.hostName === undefined || spec.resolved === undefined || spec.power !== 'Running') return false;
  const { guest } = status ?? {};
  return (
    guest?.power === 'Running' &&
    guest.id === spec.guestID &&
    guest.epoch === (spec.epoch ?? 1) &&
    status?.host === spec.hostName &&
    isTrue(vm, 'Ready')
  );
}

/** VMs of which one can take the guest of another have the same: what they run and its shape. Undefined: not admitted. */
export function shapeOf({ spec }: VM): string | undefined {
  const { resolved } = spec;
  if (resolved === undefined) return undefined;
  const { digest, guestOS, vcpus, memory, disk } = resolved;
  return [digest, guestOS, vcpus, parseBytes(memory), disk === undefined ? '' : parseBytes(disk), spec.class].join(' ');
}

/** Why the guest of a member is not for a VM, whether it is up or not; undefined: it is. Hosts are not looked at. */
export function matchRefusal(taker: VM, member: VM, world: WorldView): string | undefined {
  // Its guest's own holds it from birth; whoever put another there has not let it go.
  if ((member.metadata.finalizers ?? []).length > 1) return 'it has a finalizer of somebody';
  const shape = shapeOf(taker);
  if (shape === undefined || shape !== shapeOf(member)) return 'it is of another image, size or class';
  const pool = poolOf(member, world);
  if (pool === undefined || pool.metadata.deletionTimestamp !== undefined) return 'its pool is gone';
  if (member.metadata.namespace === taker.metadata.namespace) return undefined;
  if (pool.spec.shared !== true) return 'its pool is another tenant’s';
  const policy = world.get(POLICIES, undefined, 'default');
  return policy?.spec.allowSharedPoolClaims === true ? undefined : 'the policy does not allow claims of shared pools';
}

/**
 * Whether a member makes room in the quota for a VM: one of its namespace that the VM takes as soon as both are there, and that goes at once where it does not.
 * It need not be up yet; but on a host that is not heard of it neither goes nor is taken.
 */
export function isMadeFor(member: VM, vm: VM, world: WorldView): boolean {
  const { metadata, spec } = member;
  if (metadata.namespace !== vm.metadata.namespace || metadata.deletionTimestamp !== undefined) return false;
  if (spec.power !== 'Running' || matchRefusal(vm, member, world) !== undefined) return false;
  const host = spec.hostName === undefined ? undefined : world.get(HOSTS, undefined, spec.hostName);
  if (spec.hostName !== undefined && (host === undefined || !isTrue(host, 'Ready'))) return false;
  const selector = vm.spec.hostSelector;
  if (selector === undefined || jsonEqual(selector, spec.hostSelector)) return true;
  return host !== undefined && matchesLabels(selector, host.metadata.labels ?? {});
}

/** Whether a VM is one that would rather take a guest that is up than wait for its own. Members themselves do not, nor does one whose guest is to be another VM's. */
export function wantsWarmGuest({ metadata, spec }: VM): boolean {
  if (spec.claimable === true || spec.standsInFor !== undefined) return false;
  if (metadata.deletionTimestamp !== undefined) return false;
  return spec.power === 'Running' && spec.hostName === undefined && (spec.volumes ?? []).length === 0;
}
