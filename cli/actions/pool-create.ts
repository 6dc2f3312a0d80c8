import type { Target } from '../coppice-command.ts';
import { Failure } from '../failure.ts';
import { type Io, printLine } from '../io.ts';
import { type PoolView, poolName } from '../pool-ref.ts';
import { openSession } from '../session.ts';
import { POOLS } from '../vm-ref.ts';
import { durationFlag } from '../wait/deadline.ts';
import { untilWarm } from '../wait/until-warm.ts';

interface PoolCreateOptions {
  readonly words: readonly string[];
  readonly image: string;
  readonly replicas: number;
  /** A size by its name, or else of these. */
  readonly size: string | undefined;
  readonly vcpus: number | undefined;
  readonly memory: string | undefined;
  readonly disk: string | undefined;
  readonly vmClass: string | undefined;
  readonly shared: boolean;
  readonly wait: boolean;
  readonly timeout: string;
}

/** Makes a Pool, and waits until it is warm if that is asked for. */
export async function createPool(io: Io, target: Target, options: PoolCreateOptions): Promise<void> {
  const timeoutMs = durationFlag('timeout', options.timeout);
  const name = poolName(options.words, 'pool create');
  const size = sizeOf(options);
  const spec = {
    image: options.image,
    replicas: options.replicas,
    ...(size === undefined ? {} : { size }),
    ...(options.vmClass === undefined ? {} : { class: options.vmClass }),
    ...(options.shared ? { shared: true } : {}),
  };
  await using session = await openSession(io, target);
  const wish = { apiVersion: 'coppice.dev/v1', kind: 'Pool', metadata: { name }, spec };
  const pools = session.client.resource<PoolView>(POOLS, session.namespace);
  const made = await pools.create(wish, { fieldManager: 'coppice' }, io.signal);
  printLine(io, `pool.coppice.dev/${name} created`);
  if (options.wait) await untilWarm(session, made, timeoutMs);
}

function sizeOf({ size, vcpus, memory, disk }: PoolCreateOptions): string | object | undefined {
  const parts = {
    ...(vcpus === undefined ? {} : { vcpus }),
    ...(memory === undefined ? {} : { memory }),
    ...(disk === undefined ? {} : { disk }),
  };
  const named = Object.keys(parts).length > 0;
  if (size !== undefined && named)
    throw new Failure('--size names a size, so it goes without --vcpus, --memory and --disk');
  return named ? parts : size;
}
