import { isMadeFor, wantsWarmGuest } from '../../resources/guards/pool-members.ts';
import { TENANTS, VMS } from '../../resources/guards/refs.ts';
import { tenantShareOf } from '../../resources/guards/shares.ts';
import { quotaOf } from '../../resources/guards/tenant-guard.ts';
import type { WorldView } from '../../resources/guards/world.ts';
import type { VM } from '../../resources/kinds/vm.ts';
import { parseBytes } from '../../resources/meta/quantity.ts';

interface QuotaRoom {
  readonly room: number;
  readonly tooMany: number;
}

/**
 * How many more members like `wanted` the quota of their namespace has room for, or how many of those there are it has none for. VMs that wait for a host are
 * about to take some of these, which then do not count beside them.
 */
export function quotaRoom(wanted: VM, members: readonly VM[], world: WorldView): QuotaRoom {
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
  return { room: 0, tooMany: Math.max(0, -room - aboutToBeTaken(namespace, members, world)) };
}

function left(limit: number | undefined, used: number, each: number): number {
  return limit === undefined || each === 0 ? Number.POSITIVE_INFINITY : Math.floor((limit - used) / each);
}

function aboutToBeTaken(namespace: string, members: readonly VM[], world: WorldView): number {
  if (members.length === 0) return 0;
  let takers = 0;
  for (const vm of world.list(VMS, namespace)) {
    const waits = vm.spec.resolved !== undefined && wantsWarmGuest(vm);
    if (waits && members.some((member) => isMadeFor(member, vm, world))) takers++;
  }
  return Math.min(takers, members.length);
}
