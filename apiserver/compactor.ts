import type { Clock } from '../resources/ambient/clock.ts';
import type { Logger } from '../resources/ambient/log.ts';
import type { Store } from './store/store.ts';

const EVERY_MS = 60_000;
/** History that reconnecting watches and paged lists rely on: five minutes of it stay. */
const KEEP_STEPS = 5;

/** Forgets history older than five minutes, a minute at a time. */
export async function keepCompacting(
  deps: { store: Store; clock: Clock; log: Logger },
  signal: AbortSignal,
): Promise<void> {
  const marks: number[] = [];
  try {
    for (;;) {
      await deps.clock.sleep(EVERY_MS, signal);
      marks.push(deps.store.revision());
      const oldest = marks.length > KEEP_STEPS ? marks.shift() : undefined;
      if (oldest === undefined || oldest <= deps.store.compactedRevision()) continue;
      await deps.store.compact(oldest, signal).catch((error: unknown) => {
        if (!signal.aborted) deps.log.error('history not compacted', { error: String(error) });
      });
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
