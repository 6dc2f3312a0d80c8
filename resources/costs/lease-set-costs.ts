import { LEASE_SET_LABEL, ownerSetOf } from '../guards/lease-set.ts';
import { LEASES } from '../guards/refs.ts';
import { isOpen } from '../guards/world.ts';
import type { Lease } from '../kinds/lease.ts';
import type { LeaseSet } from '../kinds/lease-set.ts';
import { counted } from '../meta/counted.ts';
import { wantedReplicas } from '../meta/wanted-replicas.ts';
import { type Amounts, boundOf, type CostFacts, type ObjectChange } from './cost-line.ts';
import type { Granted, Grants } from './grants.ts';
import { minimumOf, owedAtOnce, rateOf, releasesOf } from './lease-costs.ts';
import { divided, exactMoney, type Micros } from './money.ts';
import { weeklyReplicaMs } from './replica-time.ts';

const HOUR_MS = 3_600_000;
const WEEK_MS = 168n * 3_600_000n;
/** Hosts that are looked for one by one; of a larger set the others are taken to cost the least. */
const MOST_GRANTS = 100;

/** What a change of a LeaseSet costs, beside the Leases it has. */
export function leaseSetCost(
  { before, after }: ObjectChange<LeaseSet>,
  grants: Grants,
  facts: CostFacts,
): Amounts | undefined {
  const set = after ?? before;
  if (set === undefined) return undefined;
  const members = membersOf(set, facts);
  const wanted = after === undefined ? 0 : wantedReplicas(after.spec, facts.nowMs).replicas;
  const had = Math.max(members.length, before === undefined ? 0 : wantedReplicas(before.spec, facts.nowMs).replicas);
  const fresh = Array.from({ length: Math.min(MOST_GRANTS, Math.max(0, wanted - had)) }, () =>
    grants.next(aLease(set)),
  );
  const rates = [...members.map(rateOf), ...fresh.map(({ rate }) => rate)];
  const later = grants.peek(aLease(set));
  const [is, was] = [timeCost(after, rates, later, facts), timeCost(before, rates, later, facts)];
  const leaving = releasesOf(members, facts.nowMs).slice(0, Math.max(0, members.length - wanted));
  const [from] = leaving.filter((instant) => instant !== undefined);
  const perHour = is.perHour - was.perHour;
  if (perHour === 0n && fresh.length === 0 && leaving.length === 0) return undefined;
  return {
    perHour,
    bound: boundOf([is.bound, was.bound, ...fresh.map(({ bound }) => bound)]),
    atOnce: fresh.reduce((sum, granted) => sum + owedAtOnce(granted, facts), 0n),
    atOnceBound: boundOf(fresh.map(({ bound }) => bound)),
    ...(from === undefined || perHour > 0n ? {} : { from }),
    note: [...setNotes(after, rates, later.rate, facts), ...freshNotes(fresh), ...leavingNotes(leaving)].join('; '),
  };
}

/** The Leases of a set that are not over or on their way out. Those that carry its label and are nobody's become its own, as after a revert. */
function membersOf({ metadata }: LeaseSet, { world }: CostFacts): readonly Lease[] {
  return [...world.list(LEASES, metadata.namespace)].filter((lease) => {
    if (!isOpen(lease) || lease.metadata.deletionTimestamp !== undefined) return false;
    const owner = ownerSetOf(lease);
    return owner === undefined
      ? lease.metadata.labels?.[LEASE_SET_LABEL] === metadata.name
      : owner.uid === metadata.uid;
  });
}

function aLease({ metadata, spec }: LeaseSet): Lease {
  const { name, namespace = '', creationTimestamp } = metadata;
  const own = { name, namespace, uid: '', resourceVersion: '', creationTimestamp };
  return { apiVersion: 'coppice.dev/v1', kind: 'Lease', metadata: own, spec: spec.template.spec };
}

/**
 * What the leases of a set cost an hour, on average: the price of each that it may come to have, over the time that they are there. Those that come later are
 * taken to cost what the next one would.
 */
function timeCost(
  set: LeaseSet | undefined,
  known: readonly Micros[],
  later: Granted,
  facts: CostFacts,
): Pick<Amounts, 'perHour' | 'bound'> {
  const most = set === undefined ? 0 : mostOf(set);
  if (set === undefined || most === 0) return { perHour: 0n, bound: 'exactly' };
  const rates = Array.from({ length: most }, (_, i) => known[i] ?? later.rate);
  const sum = rates.reduce((total, rate) => total + rate, 0n);
  const perHour = divided(sum * BigInt(Math.round(weeklyOf(set, facts))), WEEK_MS * BigInt(most));
  if (known.length < most) return { perHour, bound: later.bound === 'atLeast' ? 'atLeast' : 'about' };
  // Which of several prices is paid for how long is not known, unless all are there all the time.
  const isKnown = set.spec.schedules === undefined || rates.every((rate) => rate === rates[0]);
  return { perHour, bound: isKnown ? 'exactly' : 'about' };
}

function mostOf({ spec }: LeaseSet): number {
  return Math.max(spec.replicas, ...(spec.schedules ?? []).map(({ replicas }) => replicas));
}

function weeklyOf({ spec }: LeaseSet, facts: CostFacts): number {
  return weeklyReplicaMs((atMs) => wantedReplicas(spec, atMs), facts.nowMs, minimumOf(facts));
}

function setNotes(
  set: LeaseSet | undefined,
  known: readonly Micros[],
  later: Micros,
  facts: CostFacts,
): readonly string[] {
  if (set === undefined) return [];
  const hours = Math.round(weeklyOf(set, facts) / HOUR_MS);
  const [now, most] = [wantedReplicas(set.spec, facts.nowMs).replicas, mostOf(set)];
  const rates = Array.from({ length: most }, (_, i) => known[i] ?? later).sort((a, b) => Number(a - b));
  const [least = 0n, dearest = 0n] = [rates[0], rates.at(-1)];
  const price = least === dearest ? exactMoney(least) : `${exactMoney(least)} to ${exactMoney(dearest)}`;
  return [`${now} now, ${most} at most, ${counted(hours, 'hour')} a week${most === 0 ? '' : ` at ${price}`}`];
}

function freshNotes(fresh: readonly Granted[]): readonly string[] {
  const hosts = fresh.flatMap(({ host, heldUntil }) => (host === undefined || heldUntil !== undefined ? [] : [host]));
  const held = fresh.flatMap(({ host, heldUntil }) =>
    heldUntil === undefined ? [] : [`${host} (until ${heldUntil})`],
  );
  const waiting = fresh.filter(({ waits }) => waits !== undefined);
  return [
    ...(hosts.length === 0 ? [] : [`new: ${hosts.join(', ')}`]),
    ...(held.length === 0 ? [] : [`takes over, paid for already: ${held.join(', ')}`]),
    ...(waiting.length === 0 ? [] : [`${waiting.length} would wait: ${waiting[0]?.waits}`]),
  ];
}

function leavingNotes(leaving: readonly (string | undefined)[]): readonly string[] {
  if (leaving.length === 0) return [];
  const when = leaving.map((instant) => instant ?? 'now').join(', ');
  return [`${counted(leaving.length, 'lease')} to go, when the minimum is over: ${when}`];
}
