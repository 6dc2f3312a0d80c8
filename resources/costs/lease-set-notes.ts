import type { Lease } from '../kinds/lease.ts';
import type { LeaseSet } from '../kinds/lease-set.ts';
import { counted } from '../meta/counted.ts';
import { wantedReplicas } from '../meta/wanted-replicas.ts';
import type { CostFacts } from './cost-line.ts';
import type { Granted } from './grants.ts';
import { minimumText, rateOf, releasesOf } from './lease-costs.ts';
import { exactMoney } from './money.ts';
import { isOne, rangeOf, rangeText } from './price-range.ts';
import { type WeekTerm, weekText } from './week-term.ts';

/** How many it should have. */
export function countNotes(set: LeaseSet | undefined, limit: number, facts: CostFacts): readonly string[] {
  if (set === undefined) return [];
  const { replicas, schedules = [] } = set.spec;
  const most = Math.max(replicas, ...schedules.map((schedule) => schedule.replicas));
  const over = most > limit ? `, but no more than ${limit} by the quota` : '';
  if (schedules.length === 0) return [`${replicas} at all times${over}`];
  return [`${wantedReplicas(set.spec, facts.nowMs).replicas} now, ${most} at most${over}`];
}

/** What a week costs, to check by hand, and what it can cost beside that. */
export function weekNotes(is: WeekTerm | undefined, was: WeekTerm | undefined): readonly string[] {
  const range = (is ?? was)?.range;
  const prices = range === undefined || isOne(range) ? [] : [`a Mac that fits costs ${rangeText(range)}`];
  return [weekText(is, was), ...prices];
}

/** Leases with a host that stay on account of the change. */
export function keptNotes(holding: readonly Lease[], more: number): readonly string[] {
  return more <= 0 ? [] : [`keeps ${more} of ${counted(holding.length, 'lease')} at ${pricesOf(holding)}`];
}

/** What comes of the leases that are made now. */
export function freshNotes(fresh: readonly Granted[], facts: CostFacts): readonly string[] {
  const hosts: string[] = [];
  const held: string[] = [];
  const others = new Map<string, number>();
  for (const granted of fresh)
    if (granted.kind !== 'host') {
      const text = otherText(granted, facts);
      others.set(text, (others.get(text) ?? 0) + 1);
    } else if (granted.heldUntil === undefined) hosts.push(`${granted.host} at ${exactMoney(granted.rate)}`);
    else held.push(`${granted.host} at ${exactMoney(granted.rate)} (until ${granted.heldUntil})`);
  return [
    ...(hosts.length === 0 ? [] : [`new, for ${minimumText(facts)} at least: ${hosts.join(', ')}`]),
    ...(held.length === 0 ? [] : [`takes over, paid for already: ${held.join(', ')}`]),
    ...[...others].map(([text, n]) => `${n} ${text}`),
  ];
}

function otherText(granted: Exclude<Granted, { kind: 'host' }>, facts: CostFacts): string {
  if (granted.kind === 'refused') return `not made (${granted.why})`;
  if (granted.kind === 'unseen')
    return `new, for ${minimumText(facts)} at ${exactMoney(granted.rate)} at least: the least that a host which fits can cost`;
  return `would wait, at no cost (${granted.why}); from the grant on at ${rangeText(granted.later)}`;
}

/** Leases that the change lets go. */
export function leavingNotes(holding: readonly Lease[], leaving: number, facts: CostFacts): readonly string[] {
  if (leaving === 0) return [];
  const when = releasesOf(holding, facts.nowMs)
    .slice(0, leaving)
    .map((instant) => instant ?? 'now');
  return [`${counted(leaving, 'lease')} to go, at ${pricesOf(holding)}, when the minimum is over: ${when.join(', ')}`];
}

function pricesOf(holding: readonly Lease[]): string {
  return rangeText(rangeOf(holding.map(rateOf)) ?? { least: 0n, most: 0n });
}
