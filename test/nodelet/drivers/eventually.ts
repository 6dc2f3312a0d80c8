import { systemClock } from '../../../resources/ambient/system-clock.ts';

/** Asks until the answer is not undefined or false; throws, with what was last answered or thrown, after `deadlineMs`. */
export async function eventually<T>(
  what: string,
  ask: () => Promise<T | undefined | false> | T | undefined | false,
  deadlineMs = 15_000,
): Promise<T> {
  const end = systemClock.monotonic() + deadlineMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined && answer !== false) return answer;
    if (systemClock.monotonic() > end) throw new Error(`not within ${deadlineMs} ms: ${what}`);
    await systemClock.sleep(10);
  }
}
