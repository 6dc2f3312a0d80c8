import { vmQuota } from '../../resources/guards/tenant-guard.ts';
import { Pool } from '../../resources/kinds/pool.ts';
import { VM } from '../../resources/kinds/vm.ts';
import { counted } from '../../resources/meta/counted.ts';
import { objectKey } from '../../resources/meta/object.ts';
import { wantedReplicas } from '../../resources/meta/wanted-replicas.ts';
import type { Outcome } from '../runtime/duty.ts';
import { InFlight } from '../runtime/in-flight.ts';
import { tellReady, tellWanted } from '../runtime/tell-ready.ts';
import { deleteThis, hasReason, writeStatus } from '../runtime/write.ts';
import { poolStatus, type Refused } from './conditions.ts';
import { decide, type Plan, type Situation, type Why } from './decide.ts';
import type { Failing } from './failures.ts';
import { newMemberNames } from './member-names.ts';
import { failureOf, stateOf } from './members.ts';
import type { PoolDeps } from './pool-deps.ts';
import { quotaRoom } from './room.ts';
import { newMember, wantedMember } from './wanted-member.ts';

const WRITES_AT_ONCE = 16;
/** When to try again what the server refused, if nothing changes before. */
const REFUSED_RETRY_MS = 30_000;

/** Brings a pool nearer to what it should have now, and tells how far it is. */
export async function reconcile(key: string, deps: PoolDeps, signal: AbortSignal): Promise<Outcome> {
  const pool = deps.pools.get(key);
  if (pool === undefined) return {};
  const nowMs = deps.clock.now();
  const { situation, failing, untilMs } = situationOf(pool, deps, nowMs);
  const plan = decide(situation, nowMs);
  await remove(pool, plan, deps, signal);
  const refused = plan.make === 0 ? undefined : await make(pool, plan.make, deps, signal);
  const status = poolStatus(pool, { situation, plan, failing, refused }, nowMs);
  try {
    const pools = deps.client.resource<Pool>(Pool, pool.metadata.namespace);
    const written = await writeStatus(pools, pool, status, signal);
    if (written !== undefined) {
      tellWanted(pool, written, deps.events);
      tellReady(pool, written, ['Warming'], deps.events);
    }
  } catch (error) {
    // A claim, or somebody else, wrote since: the cache will show it.
    if (hasReason(error, 'Conflict')) return { again: true };
    throw error;
  }
  const wakes = [untilMs, plan.atMs, refused && nowMs + REFUSED_RETRY_MS].filter((at) => at !== undefined);
  return wakes.length === 0 ? {} : { requeueAfterMs: Math.max(0, Math.min(...wakes) - nowMs) };
}

interface Found {
  readonly situation: Situation;
  readonly failing: Failing | undefined;
  /** When another number may be wanted. */
  readonly untilMs: number | undefined;
}

function situationOf(pool: Pool, { view, membersByPool, failures }: PoolDeps, nowMs: number): Found {
  const { world } = view;
  const { replicas, until } = wantedReplicas(pool.spec, nowMs);
  const { member: wanted, obstacle } = wantedMember(pool, world);
  const members = membersByPool
    .get(pool.metadata.uid)
    .filter(({ metadata }) => metadata.namespace === pool.metadata.namespace)
    .map((vm) => ({ vm, state: stateOf(vm, wanted, world) }));
  const of = (...states: readonly string[]) =>
    members.filter(({ state }) => states.includes(state)).map(({ vm }) => vm);
  const failing = failures.seen(pool, of('failed'), of('ready'), failureOf, nowMs);
  // Without its image it is not known what one would be; what those that are there hold is.
  const like =
    wanted.spec.resolved === undefined ? members.find(({ vm }) => vm.spec.resolved !== undefined)?.vm : wanted;
  const quota = quotaRoom(like ?? wanted, of('ready'), world);
  const refusal = quota.room > 0 ? undefined : vmQuota.judge({ before: undefined, after: wanted }, world);
  const situation: Situation = {
    wanted: replicas,
    members,
    ...quota,
    ...(obstacle === undefined ? {} : { obstacle }),
    ...(failing === undefined ? {} : { failing }),
    ...(refusal === undefined ? {} : { noRoom: refusal.message }),
  };
  return { situation, failing, untilMs: until };
}

const REASONS: Readonly<Record<Why, string>> = {
  Failed: 'failed and is replaced',
  Outdated: 'is not as the pool wants it any more',
  Surplus: 'is more than are wanted',
  Quota: 'makes room in the quota',
};

async function remove(pool: Pool, { remove: removals }: Plan, deps: PoolDeps, signal: AbortSignal): Promise<void> {
  if (removals.length === 0) return;
  const { client, events, log } = deps;
  const vms = client.resource<VM>(VM, pool.metadata.namespace);
  const writes = new InFlight(WRITES_AT_ONCE);
  for (const { vm, why } of removals) {
    await writes.start(async () => {
      await deleteThis(vms, vm, signal);
      log.info('pool member removed', { pool: objectKey(pool.metadata), vm: vm.metadata.name, why });
      const { name } = vm.metadata;
      if (why === 'Failed') {
        const message = `${name} ${REASONS[why]}: ${failureOf(vm)}`;
        events.record(pool, { type: 'Warning', reason: 'MemberFailed', message });
      }
    });
  }
  await writes.finish();
  for (const why of ['Outdated', 'Surplus', 'Quota'] as const) {
    const count = removals.filter((each) => each.why === why).length;
    if (count === 0) continue;
    const message = `lets ${counted(count, 'member')} go: each ${REASONS[why]}`;
    events.record(pool, { type: 'Normal', reason: `${why}Removed`, message });
  }
}

/** Answers why the server would have no more of them. Those that are there already, unseen as yet, are as good. */
async function make(pool: Pool, count: number, deps: PoolDeps, signal: AbortSignal): Promise<Refused | undefined> {
  const { client, vms: cache, events, log } = deps;
  const { namespace } = pool.metadata;
  const vms = client.resource<VM>(VM, namespace);
  const writes = new InFlight(WRITES_AT_ONCE);
  let [made, refused] = [0, undefined as Refused | undefined];
  const isTaken = (name: string) => cache.get(objectKey({ name, namespace })) !== undefined;
  for (const name of newMemberNames(pool, count, isTaken)) {
    if (refused !== undefined) break;
    await writes.start(async () => {
      try {
        await vms.create(newMember(pool, name), {}, signal);
        made++;
      } catch (error) {
        if (hasReason(error, 'AlreadyExists')) return;
        const cause = hasReason(error, 'Forbidden') ? error.details?.causes?.[0] : undefined;
        if (!hasReason(error, 'Forbidden') || cause === undefined) throw error;
        refused = { reason: cause.reason, message: error.message.replace(/^.*? is forbidden: /, '') };
      }
    });
  }
  await writes.finish();
  if (made > 0) {
    log.info('pool members made', { pool: objectKey(pool.metadata), count: made });
    events.record(pool, { type: 'Normal', reason: 'Warming', message: `makes ${counted(made, 'member')}` });
  }
  return refused;
}
