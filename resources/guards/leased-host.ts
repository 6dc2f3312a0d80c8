import type { Host } from '../kinds/host.ts';
import { type Change, fence, type Guard, type GuardContext, NO_FENCES, type Refusal } from './guard.ts';
import { waitsForScrub } from './host-scrub.ts';
import { LEASES } from './refs.ts';
import { isOpen, type WorldView } from './world.ts';

/**
 * A host that waits for a scrub stays until it had one, unless an operator gives it up. A host that is leased stays while the lease does: made anew under its name it would be another one, and free for others before the minimum is over. And
 * what it is held for until then is let go in order, and cleared after.
 */
export const leasedHost: Guard<Host> = {
  name: 'leased-host',
  fences: (change) =>
    goes(change) || isLetGo(change)
      ? { bump: [fence.host((change.before ?? change.after)?.metadata.name ?? '')], compare: [] }
      : NO_FENCES,
  judge(change, world, context) {
    const { before } = change;
    if (before === undefined) return undefined;
    if (goes(change)) return deletionRefusal(before);
    if (!isLetGo(change)) return undefined;
    return (context.asker.operator ? undefined : letGoRefusal(change, world, context)) ?? heldRefusal(before, world);
  },
};

function goes({ before, after }: Change<Host>): boolean {
  if (before === undefined || before.metadata.deletionTimestamp !== undefined) return false;
  return after === undefined || after.metadata.deletionTimestamp !== undefined;
}

/** Whether the write itself takes the lease off. That of a Lease object does it as its companion, and is judged there. */
function isLetGo({ before, after }: Change<Host>): boolean {
  return before?.status?.lease !== undefined && after !== undefined && after.status?.lease === undefined;
}

function deletionRefusal(host: Host): Refusal | undefined {
  const { metadata, spec, status } = host;
  if (spec.forget === true) return undefined;
  if (waitsForScrub(host)) {
    const message = `it waits for a scrub; it can be deleted after coppice scrub ${metadata.name}, or with coppice host forget if the machine is lost`;
    return { answer: 'Forbidden', cause: 'ScrubPending', message };
  }
  const lease = status?.lease;
  if (lease === undefined || lease.ending === true) return undefined;
  const until = lease.earliestEnd === undefined ? '' : `, until ${lease.earliestEnd} at least`;
  const message = `it is leased to ${lease.namespace} (lease ${lease.name})${until}; it can be deleted once that lease has ended, or with coppice host forget if the machine is lost`;
  return { answer: 'Forbidden', cause: 'HostLeased', message };
}

/** A host is its lessee's for as long as the Lease is there and not over, whoever writes: two would have one Mac else. What ends that is the Lease's to say. */
function heldRefusal({ status }: Host, world: WorldView): Refusal | undefined {
  const claim = status?.lease;
  const lease = claim && world.get(LEASES, claim.namespace, claim.name);
  if (lease === undefined || lease.metadata.uid !== claim?.uid || !isOpen(lease)) return undefined;
  const { name, namespace } = claim;
  const message = `lease ${name} of ${namespace} holds it; coppice lease release ${name} -n ${namespace} --force ends that`;
  return { answer: 'Forbidden', cause: 'HostLeased', message };
}

function letGoRefusal({ before, after }: Change<Host>, world: WorldView, { nowMs }: GuardContext): Refusal | undefined {
  const lease = before?.status?.lease;
  if (lease === undefined || after === undefined) return undefined;
  const refuse = (cause: string, message: string): Refusal => ({ answer: 'Forbidden', cause, message });
  if (nowMs < Date.parse(lease.earliestEnd ?? lease.since))
    return refuse('MinimumTerm', `it is held for ${lease.namespace} until ${lease.earliestEnd}`);
  if (world.hostUse(after.metadata.name).namespaces.has(lease.namespace))
    return refuse('GuestsRemain', `it has guests of ${lease.namespace} still`);
  if (!waitsForScrub(after))
    return refuse('ScrubPending', 'a host whose lease is over waits for a scrub from the same moment on');
  return undefined;
}
