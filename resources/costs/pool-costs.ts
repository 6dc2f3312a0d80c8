import { poolRefOf } from '../guards/pool-members.ts';
import { TENANTS, VMS } from '../guards/refs.ts';
import { tenantShareOf } from '../guards/shares.ts';
import { quotaOf } from '../guards/tenant-guard.ts';
import type { Pool } from '../kinds/pool.ts';
import { counted } from '../meta/counted.ts';
import { jsonEqual } from '../meta/object.ts';
import { parseBytes } from '../meta/quantity.ts';
import { wantedReplicas } from '../meta/wanted-replicas.ts';
import type { Amounts, CostFacts, ObjectChange } from './cost-line.ts';
import { type GuestRate, guestRate } from './guest-costs.ts';
import { weeklyReplicaMs } from './replica-time.ts';
import { type WeekTerm, weekCost, weekText } from './week-term.ts';

const HOUR_MS = 3_600_000;

interface PoolTerm extends WeekTerm, Omit<GuestRate, 'rate'> {}

/** What a change of a Pool costs: the hours of its members, as many as the quota has room for. */
export function poolCost({ before, after }: ObjectChange<Pool>, facts: CostFacts): Amounts | undefined {
  if (before !== undefined && jsonEqual(before.spec, after?.spec)) return undefined;
  const [is, was] = [after && termOf(after, facts), before && termOf(before, facts)];
  const perHour = weekCost(is) - weekCost(was);
  if (perHour === 0n && is?.note === was?.note) return undefined;
  const sum = [is, was].every((term) => weekCost(term) === 0n) ? [] : [weekText(is, was)];
  const bound = is === undefined || is.bound === 'exactly' ? (was?.bound ?? is?.bound ?? 'exactly') : is.bound;
  return {
    perHour,
    bound: turned(bound, perHour),
    atOnce: 0n,
    note: [...sum, is?.note ?? 'its members go'].join('; '),
  };
}

/** At most as much is saved as it costs at most: the amount is less than nothing. */
function turned(bound: Amounts['bound'], perHour: bigint): Amounts['bound'] {
  return bound === 'atMost' && perHour < 0n ? 'atLeast' : bound;
}

function termOf(pool: Pool, facts: CostFacts): PoolTerm {
  const { spec } = pool;
  const guest = guestRate(pool, pool.metadata.namespace ?? '', facts);
  const limit = limitOf(pool, guest.size, facts);
  const capped = (atMs: number) => {
    const wanted = wantedReplicas(spec, atMs);
    return { ...wanted, replicas: Math.min(limit, wanted.replicas) };
  };
  const weekly = weeklyReplicaMs(capped, facts.nowMs, 0);
  const most = Math.max(spec.replicas, ...(spec.schedules ?? []).map(({ replicas }) => replicas));
  const over = most > limit ? `, but no more than ${limit} by the quota` : '';
  const now = `${wantedReplicas(spec, facts.nowMs).replicas} now, ${most} at most${over}`;
  if (spec.shared === true) {
    const hours = counted(Math.round(weekly / HOUR_MS), 'hour');
    const note = `${now}, ${hours} a week; whoever takes a member pays for it from then on`;
    return { weekly, range: { least: 0n, most: 0n }, bound: 'exactly', note };
  }
  const { rate, bound, note } = guest;
  return { weekly, range: { least: rate, most: rate }, bound, note: `${now}; ${note}` };
}

/** How many members the quota has room for, beside all else that the tenant has. */
function limitOf(pool: Pool, size: GuestRate['size'], { world }: CostFacts): number {
  const { namespace = '', uid } = pool.metadata;
  const tenant = world.get(TENANTS, undefined, namespace);
  if (tenant === undefined || size === undefined) return Infinity;
  const { maxVMs = Infinity, maxVCPUs = Infinity, maxMemory } = quotaOf(tenant, world);
  const use = world.tenantUse(namespace);
  let [vms, vcpus, memory] = [use.vms, use.vcpus, use.memoryBytes];
  for (const vm of world.list(VMS, namespace)) {
    const share = poolRefOf(vm)?.uid === uid ? tenantShareOf(vm) : undefined;
    vms -= share?.vms ?? 0;
    vcpus -= share?.vcpus ?? 0;
    memory -= share?.memoryBytes ?? 0;
  }
  const maxBytes = maxMemory === undefined ? Infinity : (parseBytes(maxMemory) ?? Infinity);
  const bytes = parseBytes(size.memory) ?? 0;
  const rooms = [maxVMs - vms, (maxVCPUs - vcpus) / size.vcpus, bytes === 0 ? Infinity : (maxBytes - memory) / bytes];
  return Math.max(0, Math.floor(Math.min(...rooms)));
}
