import type { Clock } from '../resources/ambient/clock.ts';
import type { Logger } from '../resources/ambient/log.ts';
import { POLICIES, PRICE_LISTS } from '../resources/guards/refs.ts';
import { resourceId } from '../resources/meta/resource-id.ts';
import type { WatchCache } from './cache/watch-cache.ts';
import type { Transport } from './client/transport.ts';
import { makeBasics } from './make-basics.ts';

/** After a failure, of the store say. */
const AGAIN_MS = 1_000;

interface KeepDeps {
  readonly cache: WatchCache;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Makes the policy and the prices anew, with an empty spec, whenever they are deleted: that is how they are reset. Until the signal aborts. */
export async function keepBasics({ cache, transport, clock, log }: KeepDeps, signal: AbortSignal): Promise<void> {
  let work = Promise.resolve();
  const remake = async () => {
    while (!signal.aborted) {
      try {
        return await makeBasics(transport);
      } catch (error) {
        if (!signal.aborted) log.error('the policy or the prices are not made anew', { error: String(error) });
        await clock.sleep(AGAIN_MS, signal).catch(() => undefined);
      }
    }
  };
  const stops = [POLICIES, PRICE_LISTS].map((ref) =>
    cache.resource(resourceId(ref)).listen(({ removed }) => {
      if (removed) work = work.then(remake);
    }),
  );
  await new Promise<void>((ended) => {
    if (signal.aborted) ended();
    else signal.addEventListener('abort', () => ended(), { once: true });
  });
  for (const stop of stops) stop();
  await work;
}
