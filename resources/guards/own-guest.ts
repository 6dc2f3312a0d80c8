import type { VM } from '../kinds/vm.ts';
import { type Change, fence, type Guard, NO_FENCES } from './guard.ts';
import { VMS } from './refs.ts';

/**
 * A guest is one VM's: a copy of a VM that names the guest of the first, as an export of it does, would end or keep what is not its own. A VM whose
 * guestID is its own uid needs no looking.
 */
export const ownGuest: Guard<VM> = {
  name: 'own-guest',
  fences: (change) =>
    names(change) ? { bump: [fence.unique(`guest/${change.after.spec.guestID}`)], compare: [] } : NO_FENCES,
  judge(change, world) {
    if (!names(change)) return undefined;
    const { metadata, spec } = change.after;
    for (const other of world.list(VMS)) {
      if (other.metadata.uid === metadata.uid || other.spec.guestID !== spec.guestID) continue;
      // It hands its guest over by the same write.
      if (other.spec.standsInFor?.uid === metadata.uid && other.metadata.deletionTimestamp === undefined) continue;
      const whose = `VM ${other.metadata.namespace}/${other.metadata.name}`;
      const message = `spec.guestID names the guest of ${whose}; a copy leaves guestID, hostName, epoch and resolved out`;
      return { answer: 'Forbidden', cause: 'GuestTaken', message };
    }
    return undefined;
  },
};

/** Whether the change makes a VM name a guest that is not its own from birth. */
function names(change: Change<VM>): change is Change<VM> & { readonly after: VM } {
  const { before, after } = change;
  const id = after?.spec.guestID;
  if (after === undefined || id === undefined || id === after.metadata.uid) return false;
  return before?.spec.guestID !== id && after.metadata.deletionTimestamp === undefined;
}
