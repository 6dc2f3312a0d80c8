import type { Target } from '../coppice-command.ts';
import { usage } from '../failure.ts';
import { type Io, printLine } from '../io.ts';
import { type PoolView, poolName } from '../pool-ref.ts';
import { openSession } from '../session.ts';
import { POOLS } from '../vm-ref.ts';
import { durationFlag } from '../wait/deadline.ts';
import { untilWarm } from '../wait/until-warm.ts';

interface PoolScaleOptions {
  readonly words: readonly string[];
  readonly wait: boolean;
  readonly timeout: string;
}

/** Sets how many members a pool keeps where no schedule says another number, and waits until it is so if that is asked for. */
export async function scalePool(io: Io, target: Target, options: PoolScaleOptions): Promise<void> {
  const timeoutMs = durationFlag('timeout', options.timeout);
  const [, count, extra] = options.words;
  const name = poolName(options.words.slice(0, 1), 'pool scale');
  if (count === undefined || extra !== undefined || !/^[0-9]{1,4}$/.test(count))
    throw usage('say how many members, as a whole number', 'pool scale');
  await using session = await openSession(io, target);
  const pools = session.client.resource<PoolView>(POOLS, session.namespace);
  const patch = { spec: { replicas: Number(count) } };
  await pools.patch(name, patch, { subresource: 'scale', fieldManager: 'coppice' }, io.signal);
  printLine(io, `pool.coppice.dev/${name} scaled`);
  if (options.wait) await untilWarm(session, await pools.get(name, io.signal), timeoutMs);
}
