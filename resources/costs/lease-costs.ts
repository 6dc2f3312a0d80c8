import { earliestEndMs, holdsHost, minimumMs } from '../guards/lease-term.ts';
import { POLICIES } from '../guards/refs.ts';
import type { Lease } from '../kinds/lease.ts';
import type { Amounts, CostFacts, ObjectChange } from './cost-line.ts';
import type { Granted, Grants } from './grants.ts';
import { exactMoney, forTime, type Micros, parseMicros } from './money.ts';

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
  const { rate, bound } = granted;
  return { perHour: rate, bound, atOnce: owedAtOnce(granted, facts), atOnceBound: bound, note: noteOf(granted, facts) };
}

/** The minimum of a new lease; nothing for a host that is held anyway. */
export function owedAtOnce({ rate, heldUntil }: Granted, facts: CostFacts): Micros {
  return heldUntil === undefined ? forTime(rate, minimumOf(facts)) : 0n;
}

export function minimumOf({ world }: CostFacts): number {
  return minimumMs(world.get(POLICIES, undefined, 'default'));
}

function noteOf({ rate, host, heldUntil, waits }: Granted, facts: CostFacts): string {
  if (heldUntil !== undefined)
    return `takes over ${host}, which is held and paid for until ${heldUntil}: nothing is owed anew`;
  const hours = `${minimumOf(facts) / HOUR_MS} h at ${exactMoney(rate)} at least`;
  if (waits !== undefined) return `waits (${waits}); from its grant on, ${hours}`;
  if (host !== undefined) return `${host}: ${hours}`;
  return `${hours}: the least that a host which fits can cost`;
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
