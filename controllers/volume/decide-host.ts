import { isLessee } from '../../resources/guards/lessee.ts';
import { TENANTS, VMS, VOLUMES } from '../../resources/guards/refs.ts';
import { standingRefusal } from '../../resources/guards/tenant-standing.ts';
import { volumesOf } from '../../resources/guards/volume-facts.ts';
import { freeDiskBytes, VOLUME_FILTERS, type VolumeFilter, volumeRefusal } from '../../resources/guards/volume-host.ts';
import { volumeQuota } from '../../resources/guards/volume-quota.ts';
import type { WorldView } from '../../resources/guards/world.ts';
import type { Host } from '../../resources/kinds/host.ts';
import type { VM } from '../../resources/kinds/vm.ts';
import type { Volume } from '../../resources/kinds/volume.ts';
import { counted } from '../../resources/meta/counted.ts';
import { roughBytes } from '../../resources/meta/quantity.ts';
import { matchesLabels } from '../../resources/meta/selector.ts';

export interface Wait {
  readonly kind: 'wait';
  /** What stands in the way: the tenant, its quota, or the filter that turned down the hosts that came furthest. */
  readonly reason: string;
  /** One line with the numbers. */
  readonly message: string;
}

export interface Bind {
  readonly kind: 'bind';
  readonly host: Host;
}

/**
 * Where a volume comes to lie, for good. The filter is the guard that the server binds by. A host where the VM that names it can have it comes first, if one does already; then hosts
 * that the tenant leases; then the most free disk.
 */
export function decideHost(volume: Volume, world: WorldView, hosts: readonly Host[]): Bind | Wait {
  const refusal = tenantRefusal(volume, world);
  if (refusal !== undefined) return { kind: 'wait', ...refusal };
  const { namespace = '' } = volume.metadata;
  const fitting: Host[] = [];
  const turned = new Map<VolumeFilter, number>();
  for (const host of hosts) {
    const filter = volumeRefusal(volume, host, world)?.filter;
    if (filter === undefined) fitting.push(host);
    else turned.set(filter, (turned.get(filter) ?? 0) + 1);
  }
  const users = [...world.list(VMS, namespace)].filter((vm) => volumesOf(vm).includes(volume.metadata.name));
  const ranked = fitting.map((host) => ({
    host,
    suits: Number(users.length > 0 && users.every((vm) => suits(vm, host, world))),
    leased: Number(isLessee(host, namespace, world)),
    free: freeDiskBytes(host, world),
  }));
  ranked.sort(
    (a, b) =>
      b.suits - a.suits ||
      b.leased - a.leased ||
      b.free - a.free ||
      (a.host.metadata.name < b.host.metadata.name ? -1 : 1),
  );
  const best = ranked[0]?.host;
  return best === undefined ? told(volume, world, hosts, turned) : { kind: 'bind', host: best };
}

function tenantRefusal(volume: Volume, world: WorldView): Omit<Wait, 'kind'> | undefined {
  const { namespace = '' } = volume.metadata;
  if (world.get(TENANTS, undefined, namespace) === undefined)
    return { reason: 'TenantNotFound', message: `no Tenant is named ${namespace}; the volume waits for it` };
  const bound = { ...volume, spec: { ...volume.spec, hostName: '?' } };
  const refusal = standingRefusal(namespace, world) ?? volumeQuota.judge({ before: volume, after: bound }, world);
  return refusal && { reason: refusal.cause ?? 'Forbidden', message: refusal.message };
}

/** Whether a VM that has the volume could run there: its other volumes and its labels say so. */
function suits(vm: VM, host: Host, world: WorldView): boolean {
  const { hostSelector, hostName } = vm.spec;
  const others = volumesOf(vm).map((name) => world.get(VOLUMES, vm.metadata.namespace, name)?.spec.hostName);
  return (
    [hostName, ...others].every((other) => other === undefined || other === host.metadata.name) &&
    (hostSelector === undefined || matchesLabels(hostSelector, host.metadata.labels ?? {}))
  );
}

const FILTERS = Object.keys(VOLUME_FILTERS) as VolumeFilter[];

function told(
  volume: Volume,
  world: WorldView,
  hosts: readonly Host[],
  turned: ReadonlyMap<VolumeFilter, number>,
): Wait {
  // They are asked in order, so what turned down the hosts that came furthest is what to change.
  const ranked = FILTERS.toReversed().filter((filter) => turned.has(filter));
  const [first] = ranked;
  if (first === undefined)
    return { kind: 'wait', reason: 'NoHosts', message: '0 of 0 hosts fit: no host has joined yet' };
  const most = Math.max(0, ...hosts.map((host) => freeDiskBytes(host, world)));
  const lack = ` (most free ${roughBytes(most)}, needs ${volume.spec.size})`;
  const counts = ranked.map(
    (filter) => `${turned.get(filter)} ${VOLUME_FILTERS[filter]}${filter === 'InsufficientDisk' ? lack : ''}`,
  );
  return {
    kind: 'wait',
    reason: first,
    message: `none of ${counted(hosts.length, 'host')} fits: ${counts.join(', ')}`,
  };
}
