import { rfc3339 } from '../../resources/ambient/clock.ts';
import { LEASE_SET_LABEL } from '../../resources/guards/lease-set.ts';
import { holdsHost, isPending } from '../../resources/guards/lease-term.ts';
import { isOpen } from '../../resources/guards/world.ts';
import type { Lease } from '../../resources/kinds/lease.ts';
import type { LeaseSet } from '../../resources/kinds/lease-set.ts';
import { type Condition, findCondition, setConditions } from '../../resources/meta/condition.ts';
import { counted } from '../../resources/meta/counted.ts';
import type { StatusFields } from '../runtime/write.ts';
import { isLeaving, type Plan } from './decide.ts';

/** Why no more Leases are made. */
export interface Stop {
  readonly reason: string;
  readonly message: string;
}

type Told = Pick<Condition, 'status' | 'reason' | 'message'>;

/** What a set's status says of its Leases. */
export function setStatus(
  set: LeaseSet,
  members: readonly Lease[],
  wanted: number,
  { surplus, nextReleaseMs }: Plan,
  stop: Stop | undefined,
  nowMs: number,
): StatusFields<LeaseSet> {
  const open = members.filter(isOpen);
  const nextRelease = nextReleaseMs === undefined ? undefined : rfc3339(nextReleaseMs);
  const ready = readyOf(
    open.filter((lease) => !isLeaving(lease, nowMs)),
    wanted,
    stop,
  );
  const message = `${ready.message}${surplusOf(surplus.length, nextRelease)}`;
  return {
    wanted,
    replicas: open.length,
    active: open.filter(({ status }) => status?.phase === 'Active').length,
    pending: open.filter(isPending).length,
    surplus: surplus.length,
    nextRelease,
    selector: `${LEASE_SET_LABEL}=${set.metadata.name}`,
    observedGeneration: set.metadata.generation,
    conditions: setConditions(set, nowMs, [{ type: 'Ready', ...ready, message }]),
  };
}

function surplusOf(count: number, nextRelease: string | undefined): string {
  if (count === 0) return '';
  if (count === 1) return `; 1 more stays until its minimum is over at ${nextRelease}`;
  return `; ${count} more stay until their minimum is over, the first at ${nextRelease}`;
}

function readyOf(staying: readonly Lease[], wanted: number, stop: Stop | undefined): Told {
  const has = staying.filter(holdsHost);
  const waiting = staying.filter(isPending);
  const of = `of ${counted(wanted, 'lease')}`;
  if (staying.length < wanted) {
    const reason = stop?.reason ?? 'Making';
    const why = stop === undefined ? 'the others are being made' : stop.message;
    return {
      status: 'False',
      reason,
      message: `${staying.length} ${of} ${staying.length === 1 ? 'is' : 'are'} there; ${why}`,
    };
  }
  if (has.length < wanted) {
    const [first] = byName(waiting);
    const why = first && findCondition(first, 'Ready');
    const message = `${waiting.length} ${of} ${waiting.length === 1 ? 'waits' : 'wait'} for a host; ${first?.metadata.name}: ${why?.message ?? 'not looked at yet'}`;
    return { status: 'False', reason: why?.reason ?? 'Waiting', message };
  }
  const silent = byName(has.filter((lease) => findCondition(lease, 'Ready')?.status !== 'True'));
  const ready = has.length - silent.length;
  const [first] = silent;
  if (ready < wanted && first !== undefined) {
    const why = findCondition(first, 'Ready');
    const message = `${ready} ${of} ${ready === 1 ? 'is' : 'are'} ready; ${first.metadata.name}: ${why?.message ?? 'not looked at yet'}`;
    return { status: 'False', reason: why?.reason ?? 'Waiting', message };
  }
  if (wanted === 0) return { status: 'True', reason: 'NoneWanted', message: 'no lease is wanted' };
  return { status: 'True', reason: 'Active', message: `${wanted} ${of} ${wanted === 1 ? 'has' : 'have'} a host` };
}

const byName = (leases: readonly Lease[]): readonly Lease[] =>
  leases.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
