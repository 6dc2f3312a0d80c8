import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LongWork } from '../admission/long-work.ts';

/** A step takes well under a millisecond, as a rule. */
const STEPS_A_SLICE = 16;

/** Does long work in slices, between which everybody else has a turn. Rejects with the signal's reason when it aborts first. */
export async function inSlices({ steps }: LongWork, signal: AbortSignal): Promise<void> {
  for (let step = 1; steps.next().done !== true; step++) {
    if (step % STEPS_A_SLICE !== 0) continue;
    await nextTurn();
    signal.throwIfAborted();
  }
}
