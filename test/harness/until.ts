import { setTimeout as delay } from 'node:timers/promises';

const DEADLINE_MS = 10_000;

/** Resolves when `holds` does, looking again and again at what goes on outside this process's control; throws with `what` after ten seconds, or what is given. */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  deadlineMs = DEADLINE_MS,
): Promise<void> {
  const began = performance.now();
  while (!(await holds())) {
    if (performance.now() - began > deadlineMs) throw new Error(`never came true: ${what}`);
    await delay(2);
  }
}
