import type { Host } from '../kinds/host.ts';
import { jsonEqual } from '../meta/object.ts';
import { type Change, fence, type Guard, NO_FENCES } from './guard.ts';

/** Whether a host is being emptied, or is empty and kept so. */
export function isDraining(host: Host): boolean {
  return host.spec.drain !== undefined;
}

/** Admission: a host that is drained takes nothing new, whatever the write said. Taking the drain away leaves it cordoned until that is taken away too. */
export function cordonedWithDrain(draft: Host): Host {
  if (!isDraining(draft) || draft.spec.cordoned === true) return draft;
  return { ...draft, spec: { ...draft.spec, cordoned: true } };
}

/** Who leases a host has it alone; a drain takes some of that away, so it takes somebody who says so. No lease is granted while one goes on. */
export const hostDrain: Guard<Host> = {
  name: 'host-drain',
  fences: (change) =>
    asksForDrain(change) ? { bump: [fence.host(change.after?.metadata.name ?? '')], compare: [] } : NO_FENCES,
  judge(change) {
    const { after } = change;
    const lease = after?.status?.lease;
    if (!asksForDrain(change) || lease === undefined || after?.spec.drain?.force === true) return undefined;
    const how = lease.released === true ? 'held for' : 'leased to';
    const until = lease.earliestEnd === undefined ? '' : `, until ${lease.earliestEnd} at least`;
    const message = `it is ${how} ${lease.namespace} (lease ${lease.name})${until}; to drain it all the same set spec.drain.force: coppice drain ${after?.metadata.name} --force`;
    return { answer: 'Forbidden', cause: 'HostLeased', message };
  },
};

/** Whether the change begins a drain, or makes another one of it. */
function asksForDrain({ before, after }: Change<Host>): boolean {
  return after?.spec.drain !== undefined && !jsonEqual(before?.spec.drain, after.spec.drain);
}
