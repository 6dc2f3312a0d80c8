import type { Host } from '../kinds/host.ts';
import { TENANTS } from './refs.ts';
import type { WorldView } from './world.ts';

/** Whether a host is leased to the tenant that lives in a namespace now. One that was made anew under the name of the lessee is another, whose the host is not. */
export function isLessee(host: Host, namespace: string, world: WorldView): boolean {
  const lease = host.status?.lease;
  if (lease === undefined || lease.namespace !== namespace) return false;
  const tenant = world.get(TENANTS, undefined, namespace);
  return tenant === undefined || Date.parse(tenant.metadata.creationTimestamp) <= Date.parse(lease.since);
}
