import { LEASE_SET_LABEL, ownerSetOf } from '../guards/lease-set.ts';
import { holdsHost } from '../guards/lease-term.ts';
import { LEASES } from '../guards/refs.ts';
import { isOpen } from '../guards/world.ts';
import type { Lease } from '../kinds/lease.ts';
import type { LeaseSet } from '../kinds/lease-set.ts';
import { jsonEqual } from '../meta/object.ts';
import { wantedReplicas } from '../meta/wanted-replicas.ts';
import { type Amounts, type Bound, boundOf, type CostFacts, type ObjectChange } from './cost-line.ts';
import type { Granted, Grants } from './grants.ts';
import { amountsOf, minimumOf, owedBound, rateOf, releasesOf } from './lease-costs.ts';
import { countNotes, freshNotes, keptNotes, leavingNotes, weekNotes } from './lease-set-notes.ts';
import type { Micros } from './money.ts';
import { isOne, type PriceRange, rangeOf, rangeText } from './price-range.ts';
import { weeklyReplicaMs } from './replica-time.ts';
import { type WeekTerm, weekCost } from './week-term.ts';

/** What of a set there is, and what becomes of it. */
interface SetChange extends ObjectChange<LeaseSet> {
  readonly set: LeaseSet;
  /** Its leases that have a host. */
  readonly holding: readonly Lease[];
  /** No more of its leases are there at a time, by the quota and the machines. */
  readonly limit: number;
  readonly fresh: readonly Granted[];
}

/** What a change of a LeaseSet costs, beside the Leases it has. */
export function leaseSetCost(
  { before, after }: ObjectChange<LeaseSet>,
  grants: Grants,
  facts: CostFacts,
): Amounts | undefined {
  const set = after ?? before;
  if (set === undefined || (before !== undefined && jsonEqual(before.spec, after?.spec))) return undefined;
  const members = membersOf(set, facts);
  const limit = members.length + grants.room(set.metadata.namespace ?? '');
  const had = Math.max(members.length, wantedNow(before, facts));
  const missing = Math.max(0, wantedNow(after, facts) - had);
  const fresh = Array.from({ length: missing }, (_, i) => grants.next(aLease(set, i)));
  const change: SetChange = { before, after, set, holding: members.filter(holdsHost), limit, fresh };
  const [leaving, kept] = movedOf(change, facts);
  const isScheduled = [before, after].some((each) => (each?.spec.schedules ?? []).length > 0);
  const { perHour, bound, notes } = isScheduled
    ? scheduledCost(change, grants, facts)
    : constantCost(change, kept - leaving, facts);
  const note = [
    ...countNotes(after, limit, facts),
    ...notes,
    ...freshNotes(fresh, facts),
    ...leavingNotes(change.holding, leaving, facts),
  ];
  if (perHour === 0n && bound === 'exactly' && fresh.length === 0 && leaving === 0) return undefined;
  const owed = fresh.map((granted) => amountsOf(granted, facts));
  const from = leaving === 0 || perHour > 0n ? undefined : firstLater(change.holding, leaving, facts);
  return {
    perHour,
    bound,
    atOnce: owed.reduce((sum, { atOnce }) => sum + atOnce, 0n),
    atOnceBound: boundOf(fresh.map(owedBound)),
    ...(from === undefined ? {} : { from }),
    note: note.join('; '),
  };
}

/** How many of the leases that have a host the change lets go, and how many it keeps that would have gone. */
function movedOf({ before, after, holding }: SetChange, facts: CostFacts): readonly [leaving: number, kept: number] {
  const wanted = (set: LeaseSet | undefined) => Math.min(holding.length, wantedNow(set, facts));
  const more = wanted(after) - wanted(before);
  return more < 0 ? [-more, 0] : [0, more];
}

function firstLater(holding: readonly Lease[], leaving: number, facts: CostFacts): string | undefined {
  return releasesOf(holding, facts.nowMs)
    .slice(0, leaving)
    .find((instant) => instant !== undefined);
}

interface Sum {
  readonly perHour: Micros;
  readonly bound: Bound;
  readonly notes: readonly string[];
}

/** Of as many leases at all times, before and after: the prices of those that come and go. `more` is how many with a host stay that would not, or the other way. */
function constantCost({ holding, fresh }: SetChange, more: number, facts: CostFacts): Sum {
  const rates = holding.map(rateOf).sort((a, b) => (a < b ? -1 : 1));
  const moved = rates.slice(0, Math.abs(more)).reduce((sum, rate) => sum + rate, 0n);
  // Which of them go depends on what they are used for by then.
  const known = Math.abs(more) === rates.length || rates[0] === rates.at(-1);
  const amounts = fresh.map((granted) => amountsOf(granted, facts));
  const perHour = amounts.reduce((sum, each) => sum + each.perHour, more < 0 ? -moved : moved);
  const bound = known || more === 0 ? 'exactly' : more < 0 ? 'atMost' : 'atLeast';
  return { perHour, bound: boundOf([bound, ...amounts.map((each) => each.bound)]), notes: keptNotes(holding, more) };
}

/** Of windows: the hours of a week, at the least that each can cost. Which Mac a window comes to have is not known before it opens. */
function scheduledCost(change: SetChange, grants: Grants, facts: CostFacts): Sum {
  const { before, after } = change;
  const terms = [after, before].map((set) => set && termOf(set, change, grants, facts));
  const [is, was] = terms;
  const range = is?.range ?? was?.range;
  if (
    range !== undefined &&
    terms.every((term) => term === undefined || term.weekly === 0) &&
    grants.fitting(aLease(change.set, 0)) === 0
  )
    return {
      perHour: 0n,
      bound: 'atLeast',
      notes: [`no machine fits: at no cost before one does, then ${rangeText(range)}`],
    };
  const perHour = weekCost(is) - weekCost(was);
  const ranges = [is?.range, was?.range].filter((range) => range !== undefined);
  const isKnown = ranges.every(isOne);
  const isSame = ranges.every((range) => jsonEqual(range, ranges[0]));
  const open = perHour < 0n ? 'atMost' : 'atLeast';
  return { perHour, bound: isKnown ? 'exactly' : isSame ? open : 'about', notes: weekNotes(is, was) };
}

function termOf(set: LeaseSet, { holding, limit, fresh }: SetChange, grants: Grants, facts: CostFacts): WeekTerm {
  const lease = aLease(set, 0);
  const fitting = grants.fitting(lease);
  const known = [
    ...holding.map(rateOf),
    ...fresh.flatMap((granted) => (granted.kind === 'host' ? [granted.rate] : [])),
  ];
  const most = Math.min(limit, fitting === undefined ? Infinity : Math.max(fitting, holding.length));
  const weekly = weeklyReplicaMs((atMs) => capped(wantedReplicas(set.spec, atMs), most), facts.nowMs, minimumOf(facts));
  return { weekly, range: withRates(fitting === 0 && known.length > 0 ? undefined : grants.range(lease), known) };
}

function withRates(range: PriceRange | undefined, known: readonly Micros[]): PriceRange {
  if (range?.most === undefined && range !== undefined)
    return { least: rangeOf([range.least, ...known])?.least ?? 0n, most: undefined };
  const ends = range === undefined ? [] : [range.least, range.most ?? range.least];
  return rangeOf([...ends, ...known]) ?? { least: 0n, most: 0n };
}

const capped = (wanted: ReturnType<typeof wantedReplicas>, most: number) => ({
  ...wanted,
  replicas: Math.min(most, wanted.replicas),
});

function wantedNow(set: LeaseSet | undefined, facts: CostFacts): number {
  return set === undefined ? 0 : wantedReplicas(set.spec, facts.nowMs).replicas;
}

/** The Leases of a set that are not over or on their way out. Those that carry its label and are nobody's become its own, as after a revert. */
export function membersOf({ metadata }: LeaseSet, { world }: CostFacts): readonly Lease[] {
  return [...world.list(LEASES, metadata.namespace)].filter((lease) => {
    if (!isOpen(lease) || lease.metadata.deletionTimestamp !== undefined) return false;
    const owner = ownerSetOf(lease);
    return owner === undefined
      ? lease.metadata.labels?.[LEASE_SET_LABEL] === metadata.name
      : owner.uid === metadata.uid;
  });
}

/** One that it is going to make; no other object has a name with a slash. */
function aLease({ metadata, spec }: LeaseSet, i: number): Lease {
  const { name, namespace = '', creationTimestamp } = metadata;
  const own = { name: `${name}/${i}`, namespace, uid: '', resourceVersion: '', creationTimestamp };
  return { apiVersion: 'coppice.dev/v1', kind: 'Lease', metadata: own, spec: spec.template.spec };
}
