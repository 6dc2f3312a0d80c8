import { LEASE_SET_DUTY, ownerSetOf } from '../../resources/guards/lease-set.ts';
import { HOSTS, LEASES, VMS, VOLUMES } from '../../resources/guards/refs.ts';
import type { Invariant, Step } from '../../resources/invariants/invariant.ts';
import { changesOf } from '../../resources/invariants/step-changes.ts';
import { isTrue } from '../../resources/meta/condition.ts';

/** Counts what happens in a fleet, in the place of an invariant: it finds nothing, and says whether others had anything to look at. */
export class FleetTally implements Invariant {
  readonly name = 'tally';
  readonly sentence = 'Things happen.';
  readonly counts = new Map<string, number>();

  subjects(step: Step): Iterable<string> {
    if (!step.first) for (const what of happenings(step)) this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
    return [];
  }

  findings(): readonly [] {
    return [];
  }

  line(): string {
    return `seen: ${
      [...this.counts]
        .map(([what, count]) => `${what} ${count}`)
        .sort()
        .join(', ') || 'nothing'
    }`;
  }
}

function* happenings(step: Step): Iterable<string> {
  for (const { before, after } of changesOf(step, LEASES)) {
    const [was, is] = [before?.status?.phase, after?.status?.phase];
    if (was !== is && (is === 'Active' || is === 'Ended')) yield is === 'Active' ? 'leases granted' : 'leases ended';
  }
  for (const { before, after } of changesOf(step, LEASES)) {
    if (after === undefined || ownerSetOf(after) === undefined) continue;
    if (before === undefined) yield 'leases made by sets';
    const released = after.spec.release?.by === LEASE_SET_DUTY;
    if (released && before?.spec.release === undefined) yield 'leases released by sets';
  }
  for (const { before, after } of changesOf(step, HOSTS)) {
    if (before === undefined || after === undefined) continue;
    const claim = after.status?.lease;
    if (claim?.released === true && before.status?.lease?.released !== true) yield 'hosts held on';
    if (before.status?.lease?.released === true && claim !== undefined && claim.released !== true)
      yield 'hosts taken over';
    if (isTrue(after, 'Drained') && !isTrue(before, 'Drained')) yield 'hosts drained';
    if (isTrue(before, 'ScrubPending') && !isTrue(after, 'ScrubPending')) yield 'hosts scrubbed';
  }
  for (const { before, after } of changesOf(step, VOLUMES)) {
    const { phase } = after?.status ?? {};
    if (phase !== undefined && phase !== 'Pending' && phase !== before?.status?.phase)
      yield `volumes ${phase.toLowerCase()}`;
    if (before !== undefined && after === undefined) yield 'volumes gone';
  }
  for (const { before, after } of changesOf(step, VMS)) {
    if (after?.status?.phase === 'Running' && before?.status?.phase !== 'Running') yield 'VMs running';
    if (before !== undefined && after === undefined) yield 'VMs gone';
    if (after?.spec.fromPool !== undefined && before?.spec.fromPool === undefined) yield 'warm guests taken';
    const rebound = before?.spec.hostName !== undefined && before.spec.hostName !== after?.spec.hostName;
    if (rebound && after !== undefined && after.metadata.deletionTimestamp === undefined) yield 'VMs moved';
  }
}
