import { earliestEndMs, holdsHost, minimumMs } from '../guards/lease-term.ts';
import { POLICIES } from '../guards/refs.ts';
import type { Lease } from '../kinds/lease.ts';
import type { Amounts, Bound, CostFacts, ObjectChange } from './cost-line.ts';
import type { Granted, Grants } from './grants.ts';
import { exactMoney, forTime, type Micros, parseMicros } from './money.ts';
import { rangeText } from './price-range.ts';

const HOUR_MS = 3_600_000;

/** What a change of a Lease costs: a new one its minimum at least; one that goes saves from the end of its minimum on. */
export function leaseCost(
  { before, after }: ObjectChange<Lease>,
  grants: Grants,
  facts: CostFacts,
): Amounts | undefined {
  if (after === undefined) return before && ended(before, facts.nowMs);
  if (before === undefined) return begun(grants.next(after), facts);
  return moved(before, after, facts.nowMs);
}

function begun(granted: Granted, facts: CostFacts): Amounts {
  const { perHour, atOnce, bound } = amountsOf(granted, facts);
  return { perHour, bound, atOnce, atOnceBound: owedBound(granted), note: noteOf(granted, facts) };
}

/** What a new lease costs: its minimum is owed at once, but not for a host that is held anyway; nothing before it is granted. */
export function amountsOf(
  granted: Granted,
  facts: CostFacts,
): { readonly perHour: Micros; readonly atOnce: Micros; readonly bound: Bound } {
  switch (granted.kind) {
    case 'host': {
      const atOnce = granted.heldUntil === undefined ? forTime(granted.rate, minimumOf(facts)) : 0n;
      return { perHour: granted.rate, atOnce, bound: 'exactly' };
    }
    case 'unseen':
      return { perHour: granted.rate, atOnce: forTime(granted.rate, minimumOf(facts)), bound: 'atLeast' };
    case 'waits':
      return { perHour: 0n, atOnce: 0n, bound: 'atLeast' };
    case 'refused':
      return { perHour: 0n, atOnce: 0n, bound: 'exactly' };
  }
}

/** How what is owed at once stands to what it will be: one that waits owes nothing. */
export function owedBound(granted: Granted): Bound {
  return granted.kind === 'unseen' ? 'atLeast' : 'exactly';
}

export function minimumOf({ world }: CostFacts): number {
  return minimumMs(world.get(POLICIES, undefined, 'default'));
}

/** `24 h`: how long a lease is paid for at least. */
export function minimumText(facts: CostFacts): string {
  return `${minimumOf(facts) / HOUR_MS} h`;
}

function noteOf(granted: Granted, facts: CostFacts): string {
  const hours = minimumText(facts);
  switch (granted.kind) {
    case 'host': {
      const { host, rate, heldUntil } = granted;
      if (heldUntil === undefined) return `${host}: ${hours} at ${exactMoney(rate)} at least`;
      return `takes over ${host}, which is held and paid for until ${heldUntil}: nothing is owed anew`;
    }
    case 'unseen':
      return `${hours} at ${exactMoney(granted.rate)} at least: the least that a host which fits can cost`;
    case 'waits':
      return `waits, at no cost (${granted.why}); from its grant on ${hours} at ${rangeText(granted.later)}`;
    case 'refused':
      return `is not made (${granted.why})`;
  }
}

function ended(lease: Lease, nowMs: number): Amounts | undefined {
  if (!holdsHost(lease)) return undefined;
  const from = later(lease.status?.earliestEnd, nowMs);
  const until = from === undefined ? 'is let go' : `is held and paid for until ${from}`;
  return {
    perHour: -rateOf(lease),
    bound: 'exactly',
    atOnce: 0n,
    ...(from === undefined ? {} : { from }),
    note: `${lease.status?.host ?? 'its host'} ${until}`,
  };
}

/** The end of a granted lease is moved: what it costs beyond the earlier of the two ends. */
function moved(before: Lease, after: Lease, nowMs: number): Amounts | undefined {
  const [was, is] = [before.status?.endsAt, after.status?.endsAt];
  if (!holdsHost(before) || was === is) return undefined;
  const rate = rateOf(before);
  const longer = is === undefined || (was !== undefined && is > was);
  const from = later(longer ? was : is, nowMs);
  const ends = is === undefined ? 'goes on until it is released' : `ends at ${is}`;
  return {
    perHour: longer ? rate : -rate,
    bound: 'exactly',
    atOnce: 0n,
    ...(from === undefined ? {} : { from }),
    note: was === undefined ? ends : `${ends}, not at ${was}`,
  };
}

/** What an hour of a granted lease costs. */
export function rateOf({ status }: Lease): Micros {
  return parseMicros(status?.pricePerHour);
}

/** When each of some leases can go, the first first; undefined is now. */
export function releasesOf(leases: readonly Lease[], nowMs: number): readonly (string | undefined)[] {
  return leases
    .toSorted((a, b) => (earliestEndMs(a) || 0) - (earliestEndMs(b) || 0))
    .map(({ status }) => later(status?.earliestEnd, nowMs));
}

function later(instant: string | undefined, nowMs: number): string | undefined {
  return instant !== undefined && Date.parse(instant) > nowMs ? instant : undefined;
}
