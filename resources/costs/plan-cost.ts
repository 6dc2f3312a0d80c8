import { holdsHost } from '../guards/lease-term.ts';
import { HOSTS, LEASES } from '../guards/refs.ts';
import { isOpen } from '../guards/world.ts';
import type { Lease } from '../kinds/lease.ts';
import type { LeaseSet } from '../kinds/lease-set.ts';
import type { Pool } from '../kinds/pool.ts';
import type { PriceList } from '../kinds/price-list.ts';
import type { Tenant } from '../kinds/tenant.ts';
import type { VM } from '../kinds/vm.ts';
import type { Volume } from '../kinds/volume.ts';
import { objectKey } from '../meta/object.ts';
import { type Amounts, type Bound, boundOf, type CostFacts, type CostLine, type ObjectChange } from './cost-line.ts';
import { Grants } from './grants.ts';
import { priceCost, vmCost, volumeCost } from './guest-costs.ts';
import { leaseCost, rateOf, releasesOf } from './lease-costs.ts';
import { leaseSetCost } from './lease-set-costs.ts';
import type { Micros } from './money.ts';
import { poolCost } from './pool-costs.ts';
import { standingCosts, type TenantMonth, tenantMonths } from './tenant-months.ts';

/** What a plan costs, and each change of it. */
export interface PlanCost {
  readonly lines: readonly CostLine[];
  readonly perHour: Micros;
  readonly bound: Bound;
  readonly atOnce: Micros;
  readonly atOnceBound: Bound;
  /** Of tenants with a budget; none where not all can be seen of what they have. */
  readonly months: readonly TenantMonth[];
}

/**
 * What changes cost, in whichever order they are given. Hosts are given to new leases by their names, single Leases first, as each would get them now; the
 * world is changed by that.
 */
export function planCost(changes: readonly ObjectChange[], known: Omit<CostFacts, 'lessees'>): PlanCost {
  const facts = { ...known, lessees: lesseesOf(changes, known.world) };
  const grants = new Grants(facts);
  const costOf = (change: ObjectChange) => lineOf(change, grants, changes, facts);
  const standing = facts.isPartial === true ? new Map() : standingCosts(costOf, facts);
  const ordered = [...changes].sort((a, b) => rankOf(a) - rankOf(b) || (nameOf(a) < nameOf(b) ? -1 : 1));
  const lines = ordered.flatMap((change) => costOf(change) ?? []);
  return {
    lines,
    perHour: lines.reduce((sum, { perHour }) => sum + perHour, 0n),
    bound: boundOf(lines.map(({ bound }) => bound)),
    atOnce: lines.reduce((sum, { atOnce }) => sum + atOnce, 0n),
    atOnceBound: boundOf(lines.map(({ atOnceBound = 'exactly' }) => atOnceBound)),
    months: tenantMonths(changes, lines, standing, facts),
  };
}

/** Single leases come first; whoever runs guests is reckoned once it is known what is leased. */
const RANKS = ['Lease', 'LeaseSet'];
function rankOf({ before, after }: ObjectChange): number {
  const rank = RANKS.indexOf((after ?? before)?.kind ?? '');
  return rank < 0 ? RANKS.length : rank;
}

function nameOf({ before, after }: ObjectChange): string {
  const object = after ?? before;
  return object === undefined ? '' : `${RANKS.includes(object.kind) ? '' : object.kind} ${objectKey(object.metadata)}`;
}

/** Namespaces that lease or hold a host, or are going to. */
function lesseesOf(changes: readonly ObjectChange[], world: CostFacts['world']): ReadonlySet<string> {
  const lessees = new Set<string>();
  for (const { status } of world.list(HOSTS)) if (status?.lease !== undefined) lessees.add(status.lease.namespace);
  for (const lease of world.list(LEASES)) if (isOpen(lease)) lessees.add(lease.metadata.namespace ?? '');
  for (const { after } of changes)
    if (after !== undefined && RANKS.includes(after.kind)) lessees.add(after.metadata.namespace ?? '');
  return lessees;
}

function lineOf(
  change: ObjectChange,
  grants: Grants,
  all: readonly ObjectChange[],
  facts: CostFacts,
): CostLine | undefined {
  const object = change.after ?? change.before;
  if (object?.apiVersion !== 'coppice.dev/v1') return undefined;
  const line = amountsOf(object.kind, change, grants, all, facts);
  if (line === undefined) return undefined;
  const { namespace, name } = object.metadata;
  return { kind: object.kind, ...(namespace === undefined ? {} : { namespace }), name, ...line };
}

function amountsOf(
  kind: string,
  change: ObjectChange,
  grants: Grants,
  all: readonly ObjectChange[],
  facts: CostFacts,
): Amounts | undefined {
  switch (kind) {
    case 'Lease':
      return leaseCost(change as ObjectChange<Lease>, grants, facts);
    case 'LeaseSet':
      return leaseSetCost(change as ObjectChange<LeaseSet>, grants, facts);
    case 'Pool':
      return poolCost(change as ObjectChange<Pool>, facts);
    case 'VM':
      return vmCost(change as ObjectChange<VM>, facts);
    case 'Volume':
      return volumeCost(change as ObjectChange<Volume>, facts);
    case 'Tenant':
      return change.after === undefined ? tenantEnd(change.before as Tenant, all, facts) : undefined;
    case 'PriceList':
      return priceCost(change as ObjectChange<PriceList>, facts);
    default:
      return undefined;
  }
}

/** The leases of a tenant that goes, but for those that are told of themselves. */
function tenantEnd({ metadata }: Tenant, all: readonly ObjectChange[], facts: CostFacts): Amounts | undefined {
  const going = all.filter(({ after }) => after === undefined).map(({ before }) => before?.metadata.uid);
  const left = [...facts.world.list(LEASES, metadata.name)].filter(
    (lease) =>
      holdsHost(lease) &&
      !going.includes(lease.metadata.uid) &&
      !lease.metadata.ownerReferences?.some(({ uid }) => going.includes(uid)),
  );
  if (left.length === 0) return undefined;
  const instants = releasesOf(left, facts.nowMs);
  const from = instants.find((instant) => instant !== undefined);
  return {
    perHour: -left.reduce((sum, lease) => sum + rateOf(lease), 0n),
    bound: 'exactly',
    atOnce: 0n,
    ...(from === undefined ? {} : { from }),
    note: `its other leases end when their minimum is over: ${instants.map((instant) => instant ?? 'now').join(', ')}`,
  };
}
