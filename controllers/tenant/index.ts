import { tenantShareOf } from '../../resources/guards/shares.ts';
import { isVolumeLost } from '../../resources/guards/volume-facts.ts';
import { isOpen } from '../../resources/guards/world.ts';
import { Host } from '../../resources/kinds/host.ts';
import { Lease } from '../../resources/kinds/lease.ts';
import { Tenant } from '../../resources/kinds/tenant.ts';
import { VM } from '../../resources/kinds/vm.ts';
import { Volume } from '../../resources/kinds/volume.ts';
import { jsonEqual } from '../../resources/meta/object.ts';
import type { CacheView, Change } from '../runtime/cache.ts';
import { type Duty, type DutyParts, watchCache } from '../runtime/duty.ts';
import { NetworkNumbers } from './network-numbers.ts';
import { reconcile, type TenantDeps } from './reconcile.ts';

/** Changes of what is summed up are gathered this long: a hundred new VMs are one new sum, and one more version of the Tenant. */
const GATHER_MS = 500;

/** Gives tenants their network number, sums up what they use, and takes them apart in order when they are deleted. */
export function tenantDuty({ client, informers, events, clock, log }: DutyParts): Duty {
  const tenants = informers.of(Tenant);
  const vms = informers.of(VM);
  const vmsByNamespace = vms.index((vm) => [vm.metadata.namespace ?? '']);
  const hosts = informers.of(Host);
  const hostsByLessee = hosts.index((host) => lesseesOf(host));
  const leases = informers.of(Lease);
  const leasesByNamespace = leases.index((lease) => [lease.metadata.namespace ?? '']);
  const volumes = informers.of(Volume);
  const volumesByNamespace = volumes.index((volume) => [volume.metadata.namespace ?? '']);
  const networks = new NetworkNumbers(tenants);
  const deps: TenantDeps = {
    client,
    tenants,
    vmsByNamespace,
    leasesByNamespace,
    volumesByNamespace,
    hostsByLessee,
    networks,
    events,
    clock,
    log,
  };
  return {
    name: 'tenant',
    watches: [
      watchCache(tenants, (change) => (isOwnWrite(change) ? [] : [change.key])),
      watchCache(tenants, ({ key }) => [key], GATHER_MS),
      watchCache(vms, tenantsTouchedBy, GATHER_MS),
      watchCache(vms, (change) => tenantsTouchedBy(change).filter((name) => isGoing(tenants, name))),
      watchCache(hosts, lesseesTouchedBy, GATHER_MS),
      watchCache(leases, ({ before, after }) => tenantsThatWait(tenants, after ?? before)),
      watchCache(leases, leasesCountedBy, GATHER_MS),
      watchCache(volumes, volumesCountedBy, GATHER_MS),
    ],
    // One at a time: two tenants looked at side by side could pick the same network number.
    workers: 1,
    reconcile: (key, signal) => reconcile(key, deps, signal),
  };
}

/** What moved is its status alone: mostly our own sum. Looked at with the next that are gathered, it does not keep itself going. */
function isOwnWrite({ before, after }: Change<Tenant>): boolean {
  const facts = (tenant: Tenant | undefined) =>
    tenant && [tenant.metadata.uid, tenant.metadata.deletionTimestamp, tenant.metadata.finalizers, tenant.spec];
  return jsonEqual(facts(before), facts(after));
}

/** Only changes that move a sum, or let a deletion go on. */
function tenantsTouchedBy({ before, after }: Change<VM>): readonly string[] {
  const namespace = (after ?? before)?.metadata.namespace ?? '';
  const sameShare =
    before !== undefined && after !== undefined && jsonEqual(tenantShareOf(before), tenantShareOf(after));
  return sameShare ? [] : [namespace];
}

/** Leases matter to a tenant that is going. */
function tenantsThatWait(tenants: CacheView<Tenant>, lease: Lease | undefined): readonly string[] {
  const namespace = lease?.metadata.namespace ?? '';
  return isGoing(tenants, namespace) ? [namespace] : [];
}

const isGoing = (tenants: CacheView<Tenant>, name: string) =>
  tenants.get(name)?.metadata.deletionTimestamp !== undefined;

/** Only what moves the number of Leases that are not over. */
function leasesCountedBy({ before, after }: Change<Lease>): readonly string[] {
  const open = (lease: Lease | undefined) => lease !== undefined && isOpen(lease);
  return open(before) === open(after) ? [] : [(after ?? before)?.metadata.namespace ?? ''];
}

/** Only what moves the sum of volumes, or a deletion. */
function volumesCountedBy({ before, after }: Change<Volume>): readonly string[] {
  const counted = (volume: Volume | undefined) =>
    volume && [volume.spec.size, volume.spec.hostName === undefined, isVolumeLost(volume)];
  return jsonEqual(counted(before), counted(after)) ? [] : [(after ?? before)?.metadata.namespace ?? ''];
}

const lesseesOf = (host: Host | undefined): readonly string[] =>
  host?.status?.lease === undefined ? [] : [host.status.lease.namespace];

function lesseesTouchedBy({ before, after }: Change<Host>): readonly string[] {
  return jsonEqual(before?.status?.lease, after?.status?.lease) ? [] : [...lesseesOf(before), ...lesseesOf(after)];
}
