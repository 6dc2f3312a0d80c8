import type { Clock } from '../../../../resources/ambient/clock.ts';

/** A clock whose wall time is `aheadMs()` milliseconds ahead; waits and intervals are as before. */
export function steppedClock(clock: Clock, aheadMs: () => number): Clock {
  return {
    now: () => clock.now() + aheadMs(),
    monotonic: () => clock.monotonic(),
    sleep: (ms, signal) => clock.sleep(ms, signal),
    after: (ms, run) => clock.after(ms, run),
  };
}
