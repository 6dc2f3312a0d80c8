import type { LeaseSet } from '../../resources/kinds/lease-set.ts';
import type { OwnerReference } from '../../resources/meta/object.ts';

/** How a Lease names the set that makes and ends it. */
export function ownerReferenceTo({ apiVersion, kind, metadata: { name, uid } }: LeaseSet): OwnerReference {
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true };
}
