import { ownerSetOf } from '../guards/lease-set.ts';
import { LEASES } from '../guards/refs.ts';
import type { Lease } from '../kinds/lease.ts';
import type { LeaseSet } from '../kinds/lease-set.ts';
import { counted } from '../meta/counted.ts';
import type { Invariant, Step } from './invariant.ts';
import { leaseName } from './lease-facts.ts';
import { changesOf } from './step-changes.ts';

/**
 * Judged when a Lease is made. A set may come to have more than it wants by wanting less; then it makes none. What is wanted is the most that its spec says at
 * any time of the week, or its status still said when the Lease was made.
 */
export const setWithinWanted: Invariant = {
  name: 'set-within-wanted',
  sentence: 'A set of leases makes none beyond what is wanted.',

  *subjects(step) {
    if (step.first) return;
    for (const { before, after } of changesOf(step, LEASES)) {
      const owner = before === undefined && after !== undefined ? ownerSetOf(after) : undefined;
      if (owner !== undefined) yield `${after?.metadata.namespace}/${owner.name}`;
    }
  },

  findings(key, step) {
    const set = step.state.leaseSet(key);
    if (set === undefined) return [];
    const made = changesOf(step, LEASES).flatMap(({ before, after }) =>
      before === undefined && after !== undefined && ownerSetOf(after)?.uid === set.metadata.uid
        ? [leaseName(after)]
        : [],
    );
    const there = step.state.leasesOfSet(set.metadata.uid).filter((lease) => stays(lease, step));
    const most = mostWanted(set);
    if (made.length === 0 || there.length <= most) return [];
    return [
      {
        key: 'too many',
        message: `leaseset/${key} wants ${most} at most, and has ${counted(there.length, 'lease')} since ${made.join(', ')}`,
        objects: [`leaseset/${key}`, ...made],
      },
    ];
  },
};

function mostWanted({ spec, status }: LeaseSet): number {
  return Math.max(spec.replicas, status?.wanted ?? 0, ...(spec.schedules ?? []).map(({ replicas }) => replicas));
}

/** Neither over nor about to be. */
function stays({ metadata, spec, status = {} }: Lease, { nowMs }: Step): boolean {
  if (metadata.deletionTimestamp !== undefined || spec.release !== undefined) return false;
  const ends = status.endsAt !== undefined && Date.parse(status.endsAt) <= nowMs;
  return !ends && status.phase !== 'Ending' && status.phase !== 'Ended';
}
