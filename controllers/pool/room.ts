import { isMadeFor, wantsWarmGuest } from '../../resources/guards/pool-members.ts';
import { TENANTS, VMS } from '../../resources/guards/refs.ts';
import { tenantShareOf } from '../../resources/guards/shares.ts';
import { quotaOf } from '../../resources/guards/tenant-guard.ts';
import type { WorldView } from '../../resources/guards/world.ts';
import type { VM } from '../../resources/kinds/vm.ts';
import { findCondition } from '../../resources/meta/condition.ts';
import { parseBytes } from '../../resources/meta/quantity.ts';

interface QuotaRoom {
  readonly room: number;
  readonly tooMany: number;
}

/**
 * How many more members like `wanted` the quota of their namespace has room for, or how many of those there are it has none for. VMs that are about to take some
 * of those that are `ready` do not count beside them.
 */
export function quotaRoom(wanted: VM, ready: readonly VM[], world: WorldView): QuotaRoom {
  const share = tenantShareOf(wanted);
  if (share === undefined) return { room: 0, tooMany: 0 };
  const namespace = wanted.metadata.namespace ?? '';
  const quota = quotaOf(world.get(TENANTS, undefined, namespace), world);
  const use = world.tenantUse(namespace);
  const memory = quota.maxMemory === undefined ? undefined : parseBytes(quota.maxMemory);
  const room = Math.min(
    left(quota.maxVMs, use.vms, share.vms),
    left(quota.maxVCPUs, use.vcpus, share.vcpus),
    left(memory, use.memoryBytes, share.memoryBytes),
  );
  if (room >= 0) return { room, tooMany: 0 };
  return { room: 0, tooMany: Math.max(0, -room - aboutToBeTaken(namespace, ready, world)) };
}

function left(limit: number | undefined, used: number, each: number): number {
  return limit === undefined || each === 0 ? Number.POSITIVE_INFINITY : Math.floor((limit - used) / each);
}

/** Each of them for a VM of its own. */
function aboutToBeTaken(namespace: string, ready: readonly VM[], world: WorldView): number {
  const left = new Set(ready);
  for (const vm of left.size === 0 ? [] : world.list(VMS, namespace)) {
    if (!isAboutToTake(vm)) continue;
    const found = [...left].find((member) => isMadeFor(member, vm, world));
    if (found !== undefined) left.delete(found);
  }
  return ready.length - left.size;
}

/** Whether a VM that counts takes a guest as soon as placement looks. One that placement has turned down already found none that it could take. */
export function isAboutToTake(vm: VM): boolean {
  const isTurnedDown = findCondition(vm, 'Scheduled')?.status === 'False';
  return vm.spec.resolved !== undefined && !isTurnedDown && wantsWarmGuest(vm);
}
