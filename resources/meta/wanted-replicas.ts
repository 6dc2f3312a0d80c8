import { windowAt } from './schedule.ts';
import type { Schedule } from './schedule-schema.ts';

export interface Wanted {
  readonly replicas: number;
  /** The next instant at which it may be another number, in milliseconds since the Unix epoch; absent means never by itself. */
  readonly until?: number;
}

/**
 * How many replicas there should be at an instant: the largest number of the schedules that hold, else `replicas`. Pure: whoever begins in the middle of a
 * window finds what everybody else does. Throws where a schedule cannot be read, which guards let nobody write.
 */
export function wantedReplicas(
  spec: { readonly replicas: number; readonly schedules?: readonly Schedule[] },
  nowMs: number,
): Wanted {
  let largest: number | undefined;
  let until: number | undefined;
  for (const schedule of spec.schedules ?? []) {
    const { holds, untilMs } = windowAt(schedule, nowMs);
    if (holds) largest = Math.max(largest ?? 0, schedule.replicas);
    if (untilMs !== undefined) until = Math.min(until ?? untilMs, untilMs);
  }
  return { replicas: largest ?? spec.replicas, ...(until === undefined ? {} : { until }) };
}
