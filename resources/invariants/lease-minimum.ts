import { HOSTS, LEASES } from '../guards/refs.ts';
import type { Host } from '../kinds/host.ts';
import type { Lease } from '../kinds/lease.ts';
import { findCondition } from '../meta/condition.ts';
import { humanDuration } from '../meta/duration.ts';
import type { Change, Finding, Invariant, Step } from './invariant.ts';
import { isForced, leaseName, SHORTEST_LEASE_MS } from './lease-facts.ts';
import { changeOf, changesOf } from './step-changes.ts';

/** By key, which a Lease that is made anew under its name has too. */
export const leaseMinimum: Invariant = {
  name: 'lease-minimum',
  sentence: 'A lease lasts 24 hours at least, from a beginning that never moves, unless an operator ended it by force.',

  *subjects(step) {
    for (const { key } of changesOf(step, LEASES)) yield key;
    for (const { key } of changesOf(step, HOSTS)) yield `host ${key}`;
  },

  findings(subject, step) {
    if (subject.startsWith('host ')) {
      const change = changeOf(step, HOSTS, subject.slice('host '.length));
      return change === undefined ? [] : claimLetGo(change, step);
    }
    const lease = step.state.lease(subject);
    const change = changeOf(step, LEASES, subject);
    return lease === undefined ? [] : [...tooShort(lease), ...promisedTooLittle(lease), ...moved(change)];
  },
};

function tooShort(lease: Lease): readonly Finding[] {
  const { phase, grantedAt, endedAt, earliestEnd, billedUntil } = lease.status ?? {};
  if (phase !== 'Ended' || grantedAt === undefined) return [];
  const found: Finding[] = [];
  const lasted = Date.parse(endedAt ?? '') - Date.parse(grantedAt);
  const shortest = Math.max(SHORTEST_LEASE_MS, Date.parse(earliestEnd ?? grantedAt) - Date.parse(grantedAt));
  if (endedAt === undefined) found.push(about(lease, 'endedAt', 'has ended, and does not say when'));
  else if (lasted < shortest && !isForced(lease)) {
    const instants = `from ${grantedAt} to ${endedAt}`;
    const took = `${humanDuration(lasted)} of at least ${humanDuration(shortest)}`;
    found.push(about(lease, 'short', `has ended after ${took}, ${instants}, and no operator forced it`));
  }
  if (earliestEnd !== undefined && Date.parse(billedUntil ?? '') < Date.parse(earliestEnd))
    found.push(about(lease, 'billed', `is billed until ${billedUntil}, before its minimum is over at ${earliestEnd}`));
  return found;
}

function promisedTooLittle(lease: Lease): readonly Finding[] {
  const { grantedAt, earliestEnd } = lease.status ?? {};
  if (grantedAt === undefined || earliestEnd === undefined) return [];
  const promised = Date.parse(earliestEnd) - Date.parse(grantedAt);
  if (promised >= SHORTEST_LEASE_MS) return [];
  return [
    about(lease, 'promise', `may end at ${earliestEnd}, ${humanDuration(promised)} after its grant at ${grantedAt}`),
  ];
}

function moved(change: Change<Lease> | undefined): readonly Finding[] {
  const { before, after } = change ?? {};
  if (before === undefined || after === undefined || before.metadata.uid !== after.metadata.uid) return [];
  const found: Finding[] = [];
  for (const field of ['grantedAt', 'earliestEnd', 'host', 'pricePerHour'] as const) {
    const [was, is] = [before.status?.[field], after.status?.[field]];
    if (was !== undefined && was !== is)
      found.push(about(after, field, `had ${field} ${was}, and now ${is ?? 'none'}`));
  }
  if (before.status?.phase === 'Ended' && after.status?.phase !== 'Ended')
    found.push(about(after, 'phase', `was Ended, and is ${after.status?.phase}`));
  return found;
}

/** A host that was held although its Lease object is gone, and is not any more. */
function claimLetGo({ before, after }: Change<Host>, { state, nowMs }: Step): readonly Finding[] {
  const claim = before?.status?.lease;
  if (before === undefined || after === undefined || claim?.earliestEnd === undefined) return [];
  if (before.metadata.uid !== after.metadata.uid || after.status?.lease?.namespace === claim.namespace) return [];
  const lease = state.leaseByUID(claim.uid);
  // An Ended lease says itself how long it was; one by force needs no minimum.
  if (lease !== undefined || state.tenant(claim.namespace)?.spec.forceDelete !== undefined) return [];
  const at = findCondition(after, 'ScrubPending')?.lastTransitionTime;
  // By the clock of whoever wrote it, which may have been set back, and by ours.
  if (at === undefined || Math.max(Date.parse(at), nowMs) >= Date.parse(claim.earliestEnd)) return [];
  const { name } = after.metadata;
  return [
    {
      key: `let go ${claim.uid}`,
      message: `host ${name} was held for ${claim.namespace} until ${claim.earliestEnd}, and was let go at ${at}`,
      objects: [`host/${name}`, `lease/${claim.namespace}/${claim.name}`],
    },
  ];
}

function about(lease: Lease, key: string, what: string): Finding {
  const host = lease.status?.host;
  return {
    key: `${key} ${lease.metadata.uid}`,
    message: `${leaseName(lease)} ${what}`,
    objects: [leaseName(lease), ...(host === undefined ? [] : [`host/${host}`])],
  };
}
