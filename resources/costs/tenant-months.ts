import { isPending } from '../guards/lease-term.ts';
import { poolRefOf } from '../guards/pool-members.ts';
import { LEASE_SETS, LEASES, POOLS, TENANTS, VMS, VOLUMES } from '../guards/refs.ts';
import { isOpen } from '../guards/world.ts';
import type { KubeObject } from '../meta/object.ts';
import { type Bound, boundOf, type CostFacts, type CostLine, type ObjectChange } from './cost-line.ts';
import { membersOf } from './lease-set-costs.ts';
import { type Micros, parseMicros } from './money.ts';

/** A year of 365 days has twelve of these. */
export const MONTH_HOURS = 730n;

/** What a tenant pays in a month once a plan is in force, beside what it means to spend. */
export interface TenantMonth {
  readonly tenant: string;
  readonly budget: Micros;
  readonly perHour: Micros;
  readonly perMonth: Micros;
  readonly bound: Bound;
}

/** What all that a tenant has costs before a plan. */
type Standing = Pick<TenantMonth, 'perHour' | 'bound'>;
type CostOf = (change: ObjectChange) => CostLine | undefined;

/** What there is of each tenant with a budget costs as much as its end would save. To be asked before a plan is reckoned, since that changes the world. */
export function standingCosts(costOf: CostOf, facts: CostFacts): ReadonlyMap<string, Standing> {
  const standing = new Map<string, Standing>();
  for (const { metadata, spec } of facts.world.list(TENANTS)) {
    if (spec.budget === undefined) continue;
    const lines = objectsOf(metadata.name, facts).flatMap((before) => costOf({ before }) ?? []);
    const waits = [...facts.world.list(LEASES, metadata.name)].some((lease) => isOpen(lease) && isPending(lease));
    const perHour = -lines.reduce((sum, line) => sum + line.perHour, 0n);
    // What waits for a host costs nothing now, but is to.
    const bound = boundOf([...lines.map((line) => TURNED[line.bound]), waits ? 'atLeast' : 'exactly']);
    standing.set(metadata.name, { perHour, bound });
  }
  return standing;
}

/** The months of tenants that a plan changes something for, or whose Tenant it changes. */
export function tenantMonths(
  changes: readonly ObjectChange[],
  lines: readonly CostLine[],
  standing: ReadonlyMap<string, Standing>,
  { world }: CostFacts,
): readonly TenantMonth[] {
  const months: TenantMonth[] = [];
  for (const [tenant, there] of [...standing].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const own = lines.filter(({ namespace }) => namespace === tenant);
    const moved = changes.some(({ after }) => after?.kind === 'Tenant' && after.metadata.name === tenant);
    const { monthly } = world.get(TENANTS, undefined, tenant)?.spec.budget ?? {};
    if (monthly === undefined || (own.length === 0 && !moved)) continue;
    const perHour = own.reduce((sum, line) => sum + line.perHour, there.perHour);
    const bound = boundOf([...own.map((line) => line.bound), there.bound]);
    months.push({ tenant, budget: parseMicros(monthly), perHour, perMonth: perHour * MONTH_HOURS, bound });
  }
  return months;
}

const TURNED: Readonly<Record<Bound, Bound>> = {
  exactly: 'exactly',
  about: 'about',
  atLeast: 'atMost',
  atMost: 'atLeast',
};

/** What a tenant pays for: a Lease of a set with the set, a member of a pool with the pool. */
function objectsOf(namespace: string, facts: CostFacts): readonly KubeObject[] {
  const { world } = facts;
  const sets = [...world.list(LEASE_SETS, namespace)];
  const members = new Set(sets.flatMap((set) => membersOf(set, facts)).map(({ metadata }) => metadata.uid));
  return [
    ...sets,
    ...[...world.list(LEASES, namespace)].filter(({ metadata }) => !members.has(metadata.uid)),
    ...world.list(POOLS, namespace),
    ...[...world.list(VMS, namespace)].filter((vm) => poolRefOf(vm) === undefined),
    ...world.list(VOLUMES, namespace),
  ];
}
