import { rfc3339 } from '../../resources/ambient/clock.ts';
import { POOL_LABEL } from '../../resources/guards/pool-members.ts';
import type { Pool } from '../../resources/kinds/pool.ts';
import { type Condition, findCondition, setConditions } from '../../resources/meta/condition.ts';
import type { StatusFields } from '../runtime/write.ts';
import { countsOf, type Plan, type Situation } from './decide.ts';
import type { Failing } from './failures.ts';

/** What the server answered to a member that was to be made. */
export interface Refused {
  readonly reason: string;
  readonly message: string;
}

interface Told {
  readonly situation: Situation;
  readonly plan: Plan;
  readonly failing: Failing | undefined;
  readonly refused: Refused | undefined;
}

/** The status of a pool; how many were claimed is counted by the claims themselves. */
export function poolStatus(pool: Pool, told: Told, nowMs: number): StatusFields<Pool> {
  return {
    ...countsOf(told.situation),
    claimed: pool.status?.claimed ?? 0,
    selector: `${POOL_LABEL}=${pool.metadata.name}`,
    observedGeneration: pool.metadata.generation,
    conditions: setConditions(pool, nowMs, [{ type: 'Ready', ...verdict(told) }]),
  };
}

function verdict({ situation, plan, failing, refused }: Told): Pick<Condition, 'status' | 'reason' | 'message'> {
  const { wanted, obstacle, members } = situation;
  const no = (reason: string, message: string) => ({ status: 'False', reason, message }) as const;
  if (obstacle !== undefined) return no(obstacle.reason, obstacle.message);
  const { ready = 0 } = countsOf(situation);
  if (wanted === 0) return { status: 'True', reason: 'Empty', message: 'no member is wanted now' };
  const up = `${ready} of ${wanted} members are up`;
  if (ready >= wanted) return { status: 'True', reason: 'Warm', message: up };
  if (failing !== undefined) {
    const next = `one at a time is made, the next not before ${rfc3339(failing.retryAtMs)}`;
    return no(
      'MembersFail',
      `${up}; members failed ${failing.count} times in a row, the last: ${failing.message}; ${next}`,
    );
  }
  if (refused !== undefined) return no(refused.reason, `${up}; ${refused.message}`);
  if (plan.held) return no('QuotaExceeded', `${up}; ${situation.noRoom}`);
  const waiting = members.find(({ state }) => state === 'waiting' || state === 'cramped');
  const why = waiting && findCondition(waiting.vm, 'Scheduled')?.message;
  return why === undefined ? no('Warming', up) : no('NoHostFits', `${up}; ${why}`);
}
