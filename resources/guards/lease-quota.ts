import type { Lease } from '../kinds/lease.ts';
import { type Change, fence, type Guard, NO_FENCES, type Refusal } from './guard.ts';
import { holdsHost } from './lease-term.ts';
import { HOSTS, TENANTS } from './refs.ts';
import { quotaOf } from './tenant-guard.ts';
import type { WorldView } from './world.ts';

/**
 * How many hosts a tenant may lease: judged when a Lease is made, by the Leases that are not over, and again when it is given a host, by the hosts the tenant
 * has. A host that is held after its Lease was deleted counts only in the second, for the next Lease takes it over.
 */
export const leaseQuota = {
  name: 'lease-quota',
  fences(change) {
    const { namespace = '' } = (change.after ?? change.before)?.metadata ?? {};
    return isMade(change) || isGranted(change)
      ? { bump: [fence.tenant(namespace)], compare: [fence.policy] }
      : NO_FENCES;
  },
  judge(change, world) {
    const { after } = change;
    const namespace = after?.metadata.namespace ?? '';
    if (isMade(change)) return oneMoreLeaseRefusal(namespace, world);
    return isGranted(change) ? leasedHostRefusal(namespace, after?.status?.host, world) : undefined;
  },
} satisfies Guard<Lease>;

/** Why no Lease more can be made for a tenant, by its quota. */
export function oneMoreLeaseRefusal(namespace: string, world: WorldView): Refusal | undefined {
  return oneMore(namespace, world, world.tenantUse(namespace).openLeases, LEASES);
}

/** How many Leases more can be made for a tenant, by its quota; infinitely many where none is set. */
export function leasesLeft(namespace: string, world: WorldView): number {
  const tenant = world.get(TENANTS, undefined, namespace);
  if (tenant === undefined) return Infinity;
  return Math.max(0, (quotaOf(tenant, world).maxLeasedHosts ?? Infinity) - world.tenantUse(namespace).openLeases);
}

/** Why a tenant may not be given a host, by its quota. One that it has already, leased or held, is no more than it has; `host` undefined asks for some other. */
export function leasedHostRefusal(namespace: string, host: string | undefined, world: WorldView): Refusal | undefined {
  const lessee = host === undefined ? undefined : world.get(HOSTS, undefined, host)?.status?.lease?.namespace;
  return lessee === namespace
    ? undefined
    : oneMore(namespace, world, world.tenantUse(namespace).leasedHosts, HOSTS_HAD);
}

type Counted = (n: number) => string;

/** What is counted, as Tenant.status.used names it. */
const LEASES: Counted = (n) =>
  `used.leases: ${n === 1 ? '1 Lease that waits' : `${n} Leases that wait`} for a host or ${n === 1 ? 'has' : 'have'} one`;
const HOSTS_HAD: Counted = (n) =>
  `used.leasedHosts: ${n === 1 ? '1 host that is' : `${n} hosts that are`} leased or held`;

function oneMore(namespace: string, world: WorldView, used: number, counted: Counted): Refusal | undefined {
  const tenant = world.get(TENANTS, undefined, namespace);
  // It waits for its tenant, whose quota it is judged by then.
  if (tenant === undefined) return undefined;
  const { maxLeasedHosts } = quotaOf(tenant, world);
  if (maxLeasedHosts === undefined || used + 1 <= maxLeasedHosts) return undefined;
  const message = `exceeded quota: maxLeasedHosts: requested 1, used ${used}, limited ${maxLeasedHosts} (${counted(used)})`;
  return { answer: 'Forbidden', cause: 'QuotaExceeded', message };
}

const isMade = ({ before, after }: Change<Lease>): boolean => before === undefined && after !== undefined;

/** Whether the change gives a Lease its host. */
function isGranted({ before, after }: Change<Lease>): boolean {
  return after?.status?.host !== undefined && holdsHost(after) && (before === undefined || !holdsHost(before));
}
