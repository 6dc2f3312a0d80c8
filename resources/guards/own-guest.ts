import type { VM } from '../kinds/vm.ts';
import { claimRefusal, othersOfGuest, takesGuest } from './claim.ts';
import { type Change, fence, type Guard, NO_FENCES, type Refusal } from './guard.ts';
import { standsInFor } from './stand-in.ts';
import type { WorldView } from './world.ts';

/**
 * A guest is one VM's: a copy of a VM that names the guest of the first, as an export of it does, would end or keep what is not its own. The one way to
 * another's guest is a claim: the write that binds a VM may name the guest of an idle member of a pool, on the host and of the binding it has. A VM whose
 * guestID is its own uid needs no looking.
 */
export const ownGuest: Guard<VM> = {
  name: 'own-guest',
  fences: (change) =>
    names(change) ? { bump: [fence.unique(`guest/${change.after.spec.guestID}`)], compare: [fence.policy] } : NO_FENCES,
  judge(change, world) {
    if (!names(change)) return undefined;
    // What stands in for it hands its guest over by the same write; whether it may is judged there.
    const others = othersOfGuest(change.after, world).filter((other) => !standsInFor(other, change.after));
    const [first] = others;
    if (first === undefined) return undefined;
    const isClaim = others.length === 1 && first.spec.claimable === true && takesGuest(change.after, change.before);
    return isClaim ? judgeClaim(change, first, world) : taken(first);
  },
};

/** Whether the change makes a VM name a guest that is not its own from birth. */
function names(change: Change<VM>): change is Change<VM> & { readonly after: VM } {
  const { before, after } = change;
  const id = after?.spec.guestID;
  if (after === undefined || id === undefined || id === after.metadata.uid) return false;
  return before?.spec.guestID !== id && after.metadata.deletionTimestamp === undefined;
}

function judgeClaim({ before, after }: Change<VM>, member: VM, world: WorldView): Refusal | undefined {
  if (before === undefined || after === undefined) return undefined;
  // As it is before it is bound, with what it is admitted to by being bound.
  const taker: VM = { ...after, spec: { ...after.spec } };
  if (before.spec.hostName === undefined) delete taker.spec.hostName;
  const bound = after.spec.hostName === member.spec.hostName && after.spec.epoch === member.spec.epoch;
  const why =
    claimRefusal(taker, member, world) ?? (bound ? undefined : 'it is on another host, or of another binding');
  if (why === undefined) return undefined;
  const { name, namespace } = member.metadata;
  return {
    answer: 'Forbidden',
    cause: 'NotClaimable',
    message: `the guest of ${namespace}/${name} cannot be taken: ${why}`,
  };
}

function taken({ metadata }: VM): Refusal {
  const message = `spec.guestID names the guest of VM ${metadata.namespace}/${metadata.name}; a copy leaves guestID, hostName, epoch and resolved out`;
  return { answer: 'Forbidden', cause: 'GuestTaken', message };
}
