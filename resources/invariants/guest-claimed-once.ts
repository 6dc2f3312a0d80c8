import { VMS } from '../guards/refs.ts';
import type { VM } from '../kinds/vm.ts';
import { objectKey } from '../meta/object.ts';
import { guestOf, vmName } from './guest-facts.ts';
import type { Finding, Invariant, Step } from './invariant.ts';
import { changeOf, changesOf } from './step-changes.ts';

/** Between two revisions a guest is somebody's: that of the member, then that of the VM that took it. */
export const guestClaimedOnce: Invariant = {
  name: 'guest-claimed-once',
  sentence:
    'A guest passes from a member of a pool to one VM on its host, in the revision that removes the member, and is in no pool again.',

  *subjects(step) {
    if (step.first) return;
    for (const { key } of changesOf(step, VMS)) yield key;
  },

  findings(key, step) {
    const change = changeOf(step, VMS, key);
    if (change?.after === undefined) return [];
    const { before, after } = change;
    if (after.spec.claimable === true && guestOf(after) !== after.metadata.uid)
      return [found('pool', after, `is in a pool with guest ${guestOf(after)}, which was another’s`)];
    if (before === undefined || guestOf(before) === guestOf(after)) return [];
    // One that had a host changes guests with what stands in for it: a move, and no claim.
    const why = before.spec.hostName === undefined ? wrongWith(after, step) : undefined;
    return why === undefined ? [] : [found('claim', after, `took guest ${guestOf(after)}, ${why}`)];
  },
};

function wrongWith(taker: VM, step: Step): string | undefined {
  const changes = changesOf(step, VMS);
  const members = changes.flatMap(({ before }) =>
    before !== undefined && guestOf(before) === guestOf(taker) && before.metadata.uid !== taker.metadata.uid
      ? [before]
      : [],
  );
  const [member] = members;
  const given = member && changeOf(step, VMS, objectKey(member.metadata))?.after;
  if (member?.spec.claimable !== true || members.length > 1) return 'which no member of a pool gave up';
  if (given !== undefined) return `which ${vmName(member)} has still`;
  if (member.metadata.deletionTimestamp !== undefined) return `of ${vmName(member)}, which was being deleted`;
  return member.spec.hostName === taker.spec.hostName ? undefined : `which is on host ${member.spec.hostName}`;
}

function found(key: 'pool' | 'claim', vm: VM, what: string): Finding {
  return { key, message: `${vmName(vm)} ${what}`, objects: [vmName(vm)] };
}
