import { windowAt } from '../meta/schedule.ts';
import type { Schedule } from '../meta/schedule-schema.ts';
import type { WantedNow } from './replica-time.ts';

/** How many replicas there should be at an instant. Throws where a schedule cannot be read, which the server lets nobody write. */
export function wantedAt(
  spec: { readonly replicas: number; readonly schedules?: readonly Schedule[] },
  atMs: number,
): WantedNow {
  let largest: number | undefined;
  let until: number | undefined;
  for (const schedule of spec.schedules ?? []) {
    const { holds, untilMs } = windowAt(schedule, atMs);
    if (holds) largest = Math.max(largest ?? 0, schedule.replicas);
    if (untilMs !== undefined) until = Math.min(until ?? untilMs, untilMs);
  }
  return { replicas: largest ?? spec.replicas, ...(until === undefined ? {} : { until }) };
}
