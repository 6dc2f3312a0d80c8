import type { Lease } from '../kinds/lease.ts';

/** No Mac is leased for less. */
export const SHORTEST_LEASE_MS = 24 * 3_600_000;

/** It has its host: granted, and not ended. */
export function isHeld({ status }: Lease): boolean {
  return status?.phase === 'Active' || status?.phase === 'Ending';
}

/** An operator set the minimum aside, and that is written down. */
export function isForced({ status }: Lease): boolean {
  return status?.overrides?.some(({ what }) => what === 'ForcedRelease') === true;
}

/** VMs of others were allowed to be there when it was granted. */
export function allowsBusy({ status }: Lease): boolean {
  return status?.overrides?.some(({ what }) => what === 'AllowBusy') === true;
}

/** How violations name it. */
export function leaseName({ metadata }: Lease): string {
  return `lease/${metadata.namespace}/${metadata.name}`;
}
