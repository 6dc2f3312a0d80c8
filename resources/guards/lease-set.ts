import type { Lease } from '../kinds/lease.ts';
import type { LeaseSet } from '../kinds/lease-set.ts';
import { COPPICE_GROUP } from '../meta/define-kind.ts';
import { LEASE_SETS } from './refs.ts';
import type { WorldView } from './world.ts';

/** On each Lease of a set, with the name of the set. */
export const LEASE_SET_LABEL = 'coppice.dev/lease-set';
/** Who makes and releases the Leases of sets. */
export const LEASE_SET_DUTY = 'system:controller:leaseset';
/** A Lease is named after its set, a dash and this many characters. */
export const SUFFIX_LENGTH = 5;

/** The name and uid of the set that a Lease is a part of. */
export function ownerSetOf({ metadata }: Lease): { readonly name: string; readonly uid: string } | undefined {
  return metadata.ownerReferences?.find(
    ({ controller, kind, apiVersion }) =>
      controller === true && kind === 'LeaseSet' && apiVersion.startsWith(`${COPPICE_GROUP}/`),
  );
}

/** The set that a Lease is a part of, if it is there. */
export function setOf(lease: Lease, world: WorldView): LeaseSet | undefined {
  const owner = ownerSetOf(lease);
  const set = owner && world.get(LEASE_SETS, lease.metadata.namespace, owner.name);
  return set?.metadata.uid === owner?.uid ? set : undefined;
}
