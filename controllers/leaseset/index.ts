import { LEASE_SET_LABEL, ownerSetOf } from '../../resources/guards/lease-set.ts';
import { guestIsGone } from '../../resources/guards/shares.ts';
import { isOpen } from '../../resources/guards/world.ts';
import { Lease } from '../../resources/kinds/lease.ts';
import { LeaseSet } from '../../resources/kinds/lease-set.ts';
import { Policy } from '../../resources/kinds/policy.ts';
import { Tenant } from '../../resources/kinds/tenant.ts';
import { VM } from '../../resources/kinds/vm.ts';
import { jsonEqual, type KubeObject, objectKey } from '../../resources/meta/object.ts';
import type { Change } from '../runtime/cache.ts';
import { type Duty, type DutyParts, watchCache } from '../runtime/duty.ts';
import { reconcile } from './reconcile.ts';
import type { LeaseSetDeps } from './set-deps.ts';
import { WrittenLeases } from './written-leases.ts';

const DEADLINE_MS = 600_000;
/** Changes of Leases come in bursts: a hundred grants are one new sum. */
const GATHER_MS = 20;

/** Keeps as many Leases of each set as are wanted. */
export function leaseSetDuty({ client, informers, events, clock, log }: DutyParts): Duty {
  const sets = informers.of(LeaseSet);
  const setsByNamespace = sets.index((set) => [set.metadata.namespace ?? '']);
  const leases = informers.of(Lease);
  const leasesBySet = leases.index(setsNamedBy);
  const tenants = informers.of(Tenant);
  const policies = informers.of(Policy);
  const vms = informers.of(VM);
  const vmsByPlace = vms.index(placeOf);
  const written = new WrittenLeases(leases, clock);
  const deps: LeaseSetDeps = { client, sets, leases, leasesBySet, tenants, vmsByPlace, written, events, clock, log };
  const keysOf = (some: Iterable<LeaseSet>) => [...some].map(({ metadata }) => objectKey(metadata));
  const shortIn = (namespace: string) => keysOf(setsByNamespace.get(namespace).filter(isShort));
  return {
    name: 'leaseset',
    watches: [
      // First: nothing may be decided on a change whose write is still remembered.
      written.watch,
      watchCache(sets, ({ key }) => [key]),
      watchCache(leases, setsTouchedBy, GATHER_MS),
      // There may be room in a quota now.
      watchCache(leases, (change) => (ends(change) ? shortIn(change.before?.metadata.namespace ?? '') : []), GATHER_MS),
      watchCache(tenants, (change) => (isMoved(change) ? keysOf(setsByNamespace.get(change.key)) : [])),
      watchCache(policies, (change) => (isMoved(change) ? keysOf([...sets.list()].filter(isShort)) : [])),
      // Only to wait for the list: who has VMs matters when something is to be released.
      watchCache(vms, () => []),
    ],
    workers: 4,
    deadlineMs: DEADLINE_MS,
    reconcile: (key, signal) => reconcile(key, deps, signal),
  };
}

/** What `LeaseSetDeps.leasesBySet` finds a Lease by. */
function setsNamedBy(lease: Lease): readonly string[] {
  const { namespace, labels } = lease.metadata;
  const label = labels?.[LEASE_SET_LABEL];
  const owner = ownerSetOf(lease);
  return [
    ...(label === undefined ? [] : [objectKey({ name: label, namespace })]),
    ...(owner === undefined ? [] : [owner.uid]),
  ];
}

/** The keys of the sets that a Lease is, or was, a part of or is labelled for. */
function setsTouchedBy({ before, after }: Change<Lease>): ReadonlySet<string> {
  const names = [before, after].flatMap((lease) => {
    if (lease === undefined) return [];
    const { namespace, labels } = lease.metadata;
    return [labels?.[LEASE_SET_LABEL], ownerSetOf(lease)?.name]
      .filter((name) => name !== undefined)
      .map((name) => objectKey({ name, namespace }));
  });
  return new Set(names);
}

/** Where a VM holds something of a host. */
function placeOf(vm: VM): readonly string[] {
  const { metadata, spec } = vm;
  if (spec.hostName === undefined || guestIsGone(vm)) return [];
  return [objectKey({ namespace: metadata.namespace, name: spec.hostName })];
}

const isShort = ({ status }: LeaseSet): boolean =>
  (status?.wanted ?? 0) > (status?.active ?? 0) + (status?.pending ?? 0);

function ends({ before, after }: Change<Lease>): boolean {
  const open = (lease: Lease | undefined) => lease !== undefined && isOpen(lease);
  return open(before) && !open(after);
}

/** Other than in its status. */
function isMoved({ before, after }: Change<KubeObject>): boolean {
  return (
    before?.metadata.uid !== after?.metadata.uid ||
    before?.metadata.deletionTimestamp !== after?.metadata.deletionTimestamp ||
    !jsonEqual(before?.spec, after?.spec)
  );
}
