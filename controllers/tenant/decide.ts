import { sumOfShares, tenantShareOf } from '../../resources/guards/shares.ts';
import { isVolumeLost, volumeBytes } from '../../resources/guards/volume-facts.ts';
import { isOpen } from '../../resources/guards/world.ts';
import type { Host } from '../../resources/kinds/host.ts';
import type { Lease } from '../../resources/kinds/lease.ts';
import type { Tenant } from '../../resources/kinds/tenant.ts';
import type { VM } from '../../resources/kinds/vm.ts';
import type { Volume } from '../../resources/kinds/volume.ts';
import { setConditions } from '../../resources/meta/condition.ts';
import { formatBytes } from '../../resources/meta/quantity.ts';

type Status = NonNullable<Tenant['status']>;

/** Tenant n has 10.230.n.0/24, so there are this many numbers. */
const NETWORKS = 256;
const DISABLED = 'its tokens are refused and nothing new begins; what runs, runs on';

/** What there is of a tenant. */
export interface Holdings {
  readonly vms: readonly VM[];
  readonly leases: readonly Lease[];
  readonly volumes: readonly Volume[];
  /** Hosts it leases, or that are held for it. */
  readonly hosts: readonly Host[];
}

/** What a living tenant's status should be. `taken` are the network numbers of all others. */
export function livingStatus(
  tenant: Tenant,
  holdings: Holdings,
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
    used: usedBy(holdings),
    ...(tenant.spec.disabled === true
      ? told(tenant, nowMs, [
          { type: 'Ready', status: 'True', reason: 'Disabled', message: `${message}; ${DISABLED}` },
          { type: 'Enabled', status: 'False', reason: 'Disabled', message: DISABLED },
        ])
      : told(tenant, nowMs, [
          { type: 'Ready', status: 'True', reason: 'Active', message },
          {
            type: 'Enabled',
            status: 'True',
            reason: 'Enabled',
            message: 'its tokens are good, and what it asks for begins',
          },
        ])),
  };
}

/** What the status of a tenant that is going should be: it says what it still waits for. */
export function leavingStatus(tenant: Tenant, holdings: Holdings, waitsFor: string, nowMs: number): Partial<Status> {
  return {
    used: usedBy(holdings),
    ...told(tenant, nowMs, [
      { type: 'Ready', status: 'False', reason: 'Deleting', message: waitsFor },
      {
        type: 'Enabled',
        status: 'False',
        reason: 'Deleting',
        message: 'its tokens are refused and nothing new begins',
      },
    ]),
  };
}

function smallestFree(taken: ReadonlySet<number>): number | undefined {
  for (let index = 0; index < NETWORKS; index++) if (!taken.has(index)) return index;
  return undefined;
}

function usedBy({ vms, leases, volumes, hosts }: Holdings): NonNullable<Status['used']> {
  const shares = new Map(vms.map((vm) => [vm.metadata.name, tenantShareOf(vm)]));
  const held = [...shares.values()].filter((share) => share !== undefined);
  const { vms: count, vcpus, memoryBytes } = sumOfShares(held, (name) => shares.get(name));
  const kept = volumes.filter((volume) => !isVolumeLost(volume));
  return {
    vms: count,
    vcpus,
    memory: formatBytes(memoryBytes),
    leases: leases.filter(isOpen).length,
    leasedHosts: hosts.length,
    volumes: kept.length,
    volumeSize: formatBytes(kept.reduce((bytes, volume) => bytes + volumeBytes(volume), 0)),
  };
}

function told(tenant: Tenant, nowMs: number, conditions: Parameters<typeof setConditions>[2]) {
  return {
    ...(tenant.metadata.generation === undefined ? {} : { observedGeneration: tenant.metadata.generation }),
    conditions: setConditions(tenant, nowMs, conditions),
  };
}
