import { Exit, Failure } from '../failure.ts';
import { printLine, warn } from '../io.ts';
import type { PoolView } from '../pool-ref.ts';
import { conditionOf } from '../render/conditions.ts';
import type { Session } from '../session.ts';
import { POOLS } from '../vm-ref.ts';
import { Deadline } from './deadline.ts';
import { watchUntil } from './watch-until.ts';

/** Waits until as many members of a pool are up as it should have now, and says how many that is; else says what stands in the way, and exits 1. */
export async function untilWarm(session: Session, pool: PoolView, timeoutMs: number): Promise<void> {
  const { io, client, namespace } = session;
  const { name, generation = 0 } = pool.metadata;
  using deadline = new Deadline(io.signal, timeoutMs);
  let last: PoolView | undefined;
  const isWarm = (seen: PoolView | undefined) => {
    const { observedGeneration = 0, ready = 0, wanted } = seen?.status ?? {};
    return seen === undefined || (observedGeneration >= generation && wanted !== undefined && ready === wanted);
  };
  try {
    const pools = client.resource<PoolView>(POOLS, namespace);
    const warm = await watchUntil(pools, name, isWarm, deadline.signal, (seen) => {
      last = seen;
    });
    if (warm === undefined) throw new Failure(`pool ${name} was deleted while it was waited for`);
    printLine(io, `${warm.status?.ready} of ${warm.status?.wanted} members are up`);
  } catch (error) {
    if (!deadline.passed) throw error;
    const why = conditionOf(last, 'Ready');
    warn(io, `error: pool ${name} is not warm yet${why === undefined ? '' : `: ${why.message}`}`);
    throw new Exit(1);
  }
}
