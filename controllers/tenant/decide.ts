import { tenantShareOf } from '../../resources/guards/shares.ts';
import { TENANT_FINALIZER } from '../../resources/guards/tenant-namespace.ts';
import type { Tenant } from '../../resources/kinds/tenant.ts';
import type { VM } from '../../resources/kinds/vm.ts';
import { setConditions } from '../../resources/meta/condition.ts';
import { formatBytes } from '../../resources/meta/quantity.ts';

type Status = NonNullable<Tenant['status']>;

/** Tenant n has 10.230.n.0/24, so there are this many numbers. */
const NETWORKS = 256;
const NAMES_SHOWN = 5;

/** What there is of a tenant. */
interface Holdings {
  readonly vms: readonly VM[];
  /** Hosts it leases, or that are held for it. */
  readonly leasedHosts: number;
}

/** What a living tenant's status should be. `taken` are the network numbers of all others. */
export function livingStatus(
  tenant: Tenant,
  { vms, leasedHosts }: Holdings,
  taken: ReadonlySet<number>,
  nowMs: number,
): Partial<Status> {
  const namespace = tenant.metadata.name;
  const networkIndex = tenant.status?.networkIndex ?? smallestFree(taken);
  const message =
    networkIndex === undefined
      ? `lives in namespace ${namespace}; has no network of its own, since all ${NETWORKS} are given out`
      : `lives in namespace ${namespace}`;
  return {
    namespace,
    ...(networkIndex === undefined ? {} : { networkIndex }),
    used: usedBy({ vms, leasedHosts }),
    ...withReady(tenant, nowMs, 'True', 'Active', message),
  };
}

/** What the status of a tenant that is going should be: it says what it still waits for. */
export function leavingStatus(tenant: Tenant, holdings: Holdings, waitsFor: string, nowMs: number): Partial<Status> {
  return { used: usedBy(holdings), ...withReady(tenant, nowMs, 'False', 'Deleting', waitsFor) };
}

/** One line for people: which VMs are still there. */
export function waitsForVMs(vms: readonly VM[]): string {
  const names = vms.map((vm) => vm.metadata.name).sort();
  const shown = names.slice(0, NAMES_SHOWN).join(', ');
  const more = names.length > NAMES_SHOWN ? ` and ${names.length - NAMES_SHOWN} more` : '';
  return `waits until the guests of ${names.length} VMs are gone: ${shown}${more}`;
}

/** What is to be done for a tenant that is being deleted: VMs first, since their guests hold Macs; then the rest; then it may go. */
export function nextStep(tenant: Tenant, vms: readonly VM[]): 'live' | 'remove-vms' | 'remove-contents' | 'gone' {
  if (tenant.metadata.deletionTimestamp === undefined) return 'live';
  if (tenant.metadata.finalizers?.includes(TENANT_FINALIZER) !== true) return 'gone';
  return vms.length > 0 ? 'remove-vms' : 'remove-contents';
}

function smallestFree(taken: ReadonlySet<number>): number | undefined {
  for (let index = 0; index < NETWORKS; index++) if (!taken.has(index)) return index;
  return undefined;
}

function usedBy({ vms, leasedHosts }: Holdings): NonNullable<Status['used']> {
  let [count, vcpus, memoryBytes] = [0, 0, 0];
  for (const vm of vms) {
    const share = tenantShareOf(vm);
    count += share?.vms ?? 0;
    vcpus += share?.vcpus ?? 0;
    memoryBytes += share?.memoryBytes ?? 0;
  }
  return { vms: count, vcpus, memory: formatBytes(memoryBytes), leasedHosts };
}

function withReady(tenant: Tenant, nowMs: number, status: 'True' | 'False', reason: string, message: string) {
  return {
    ...(tenant.metadata.generation === undefined ? {} : { observedGeneration: tenant.metadata.generation }),
    conditions: setConditions(tenant, nowMs, [{ type: 'Ready', status, reason, message }]),
  };
}
