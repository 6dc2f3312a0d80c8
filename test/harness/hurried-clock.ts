import type { Clock } from '../../resources/ambient/clock.ts';
import { systemClock } from '../../resources/ambient/system-clock.ts';

/** Time that goes faster, for deadlines against other processes that nobody should wait for. Wall time stays what it is. */
export function hurried(factor: number): Clock {
  return {
    now: () => systemClock.now(),
    monotonic: () => systemClock.monotonic() * factor,
    sleep: (ms, signal) => systemClock.sleep(ms / factor, signal),
    after: (ms, run) => systemClock.after(ms / factor, run),
  };
}
