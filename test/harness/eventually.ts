import { setImmediate } from 'node:timers/promises';
import type { ManualClock } from '../../resources/ambient/manual-clock.ts';

/** Lets everything that can go on without time passing go on. */
export async function quiesce(): Promise<void> {
  for (let turn = 0; turn < 40; turn++) await setImmediate();
}

/** Time must not fly past deadlines and heartbeats while files and the store, which take real time, are at work. */
const MOST_STEP_MS = 1_000;

/** Resolves when `holds` does, moving the clock on meanwhile; throws with `what` when it does not within an hour of that clock. */
export async function eventually(
  clock: ManualClock,
  what: string,
  holds: () => boolean | Promise<boolean>,
  stepMs = 50,
): Promise<void> {
  const deadlineMs = clock.now() + 3_600_000;
  for (let step = stepMs; ; step = Math.min(step * 1.2, MOST_STEP_MS)) {
    await quiesce();
    if (await holds()) return;
    if (clock.now() >= deadlineMs) throw new Error(`never came true: ${what}`);
    await clock.advance(step);
  }
}
