import { waitsForScrub } from '../guards/host-scrub.ts';
import { bySize, LEASE_FILTERS, type LeaseFilter, leaseRefusal, takesOver } from '../guards/lease-host.ts';
import { leasedHostRefusal } from '../guards/lease-quota.ts';
import { tenantRefusal } from '../guards/lease-tenant.ts';
import type { WorldView } from '../guards/world.ts';
import type { Host } from '../kinds/host.ts';
import type { Lease } from '../kinds/lease.ts';
import { counted } from '../meta/counted.ts';
import { parseBytes, roughBytes } from '../meta/quantity.ts';

export interface Grant {
  readonly kind: 'grant';
  readonly host: Host;
}

export interface Wait {
  readonly kind: 'wait';
  /** What stands in the way: the tenant, terms, or the filter that turned down the hosts that came furthest. */
  readonly reason: string;
  /** One line with the numbers. */
  readonly message: string;
  /** How many hosts each filter turned down, the one that decides first. */
  readonly waiting: NonNullable<NonNullable<Lease['status']>['waiting']>;
}

/**
 * Which host a lease gets. The filter is the guard that the server grants by. A host that is held for the tenant comes before all others, since it is paid
 * for; then one on which volumes of the tenant are stranded; then the smallest.
 */
export function decideGrant(lease: Lease, world: WorldView, hosts: readonly Host[]): Grant | Wait {
  const refusal = tenantRefusal(lease, world);
  if (refusal !== undefined) return { kind: 'wait', ...refusal, waiting: [] };
  const named = lease.spec.hostName;
  const asked = named === undefined ? hosts : hosts.filter(({ metadata }) => metadata.name === named);
  if (named !== undefined && asked.length === 0)
    return { kind: 'wait', reason: 'HostNotFound', message: `there is no host ${named}`, waiting: [] };
  const fitting: Host[] = [];
  const turned = new Map<LeaseFilter, Host[]>();
  let why = '';
  for (const host of asked) {
    const turnedDown = leaseRefusal(lease, host, world);
    if (turnedDown === undefined) fitting.push(host);
    else {
      turned.set(turnedDown.filter, [...(turned.get(turnedDown.filter) ?? []), host]);
      why = turnedDown.message;
    }
  }
  const held = fitting.filter((host) => takesOver(lease, host, world));
  const returning = fitting.filter((host) => waitsForScrub(host));
  const preferred = [held, returning, fitting].find((some) => some.length > 0) ?? [];
  const best = preferred.toSorted(bySize)[0];
  if (best !== undefined) {
    const quota = leasedHostRefusal(lease.metadata.namespace ?? '', best.metadata.name, world);
    if (quota === undefined) return { kind: 'grant', host: best };
    return { kind: 'wait', reason: 'QuotaExceeded', message: quota.message, waiting: [] };
  }
  return named === undefined ? told(lease, asked.length, turned) : { ...told(lease, 1, turned), message: why };
}

const FILTERS = Object.keys(LEASE_FILTERS) as LeaseFilter[];

function told(lease: Lease, hosts: number, turned: ReadonlyMap<LeaseFilter, readonly Host[]>): Wait {
  // They are asked in order, so what turned down the hosts that came furthest is what to change.
  const ranked = FILTERS.toReversed()
    .map((reason) => ({ reason, hosts: turned.get(reason)?.length ?? 0 }))
    .filter((each) => each.hosts > 0);
  const [first] = ranked;
  if (first === undefined)
    return { kind: 'wait', reason: 'NoHosts', message: '0 hosts: none has joined yet', waiting: [] };
  const counts = ranked.map(
    ({ reason, hosts: n }) => `${n} ${LEASE_FILTERS[reason]}${detail(lease, reason, turned.get(reason) ?? [])}`,
  );
  const message = `${counted(hosts, 'host')}: ${counts.join(', ')}`;
  return { kind: 'wait', reason: first.reason, message, waiting: ranked };
}

function detail({ spec }: Lease, filter: LeaseFilter, hosts: readonly Host[]): string {
  if (filter === 'InsufficientVCPUs') {
    const most = Math.max(...hosts.map((host) => host.status?.allocatable?.vcpus ?? 0));
    return ` (the largest has ${most}, needs ${spec.minVCPUs})`;
  }
  if (filter === 'InsufficientMemory') {
    const most = Math.max(...hosts.map((host) => parseBytes(host.status?.allocatable?.memory ?? '0') ?? 0));
    return ` (the largest has ${roughBytes(most)}, needs ${spec.minMemory})`;
  }
  return '';
}
