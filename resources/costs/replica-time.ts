import type { Wanted } from '../meta/wanted-replicas.ts';

const WEEK_MS = 7 * 24 * 3_600_000;
/** Schedules that come round in a month are seen at least once in as many weeks. */
const WEEKS = 5;
/** Schedules can begin every minute; what lies beyond as many steps is taken to go on alike. */
const MAX_STEPS = 3_000;

/**
 * For how long replicas are there in a week, all of them together, in milliseconds: on average over the weeks after the coming one. One that is there stays
 * for a minimum, wanted or not; beyond what is wanted those go whose minimum is over.
 */
export function weeklyReplicaMs(wantedAt: (atMs: number) => Wanted, nowMs: number, minimumMs: number): number {
  const [fromMs, endMs] = [nowMs + WEEK_MS, nowMs + WEEK_MS * WEEKS];
  let ends: readonly number[] = [];
  let [early, total] = [0, 0];
  let atMs = nowMs;
  for (let step = 0; atMs < endMs && step < MAX_STEPS; step++) {
    const { replicas, until = endMs } = wantedAt(atMs);
    ends = replicasAt(ends, replicas, atMs, minimumMs);
    const release = ends.length > replicas ? Math.min(...ends.filter((end) => end > atMs)) : endMs;
    const nextMs = Math.min(until, release, endMs);
    early += ends.length * Math.max(0, Math.min(nextMs, fromMs) - atMs);
    total += ends.length * Math.max(0, nextMs - Math.max(atMs, fromMs));
    atMs = nextMs;
  }
  const isEarly = atMs <= fromMs;
  return ((isEarly ? early : total) * WEEK_MS) / (atMs - (isEarly ? nowMs : fromMs));
}

/** When the minimum of each that is there is over, once those went that may and are not wanted, and those came that are missing. */
function replicasAt(ends: readonly number[], wanted: number, atMs: number, minimumMs: number): readonly number[] {
  const bound = ends.filter((end) => end > atMs);
  const free = ends.length - bound.length;
  const kept = Math.min(free, Math.max(0, wanted - bound.length));
  const missing = Math.max(0, wanted - bound.length - kept);
  return [...bound, ...Array<number>(kept).fill(atMs), ...Array<number>(missing).fill(atMs + minimumMs)];
}
