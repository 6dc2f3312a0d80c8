import type { Clock } from '../resources/ambient/clock.ts';

interface OpenLoad {
  readonly perSecond: number;
  readonly seconds: number;
  readonly clock: Clock;
  /** Ends it early: no more is sent, and what was sent is waited for. */
  readonly signal: AbortSignal;
}

const TICK_MS = 5;

/**
 * Sends requests at a steady rate whatever becomes of those before, as many users do: how long each took is counted from when it was due, so that a
 * server that stops for a moment is not measured by one request alone. Answers the times in ms, by what `run` called them; rejects with the first failure.
 */
export async function openLoop(
  { perSecond, seconds, clock, signal }: OpenLoad,
  run: (i: number) => { readonly kind: string; readonly done: Promise<unknown> },
): Promise<ReadonlyMap<string, readonly number[]>> {
  const times = new Map<string, number[]>();
  const failures: unknown[] = [];
  const running: Promise<void>[] = [];
  const began = clock.monotonic();
  const total = perSecond * seconds;
  for (let sent = 0; sent < total && failures.length === 0 && !signal.aborted; ) {
    const due = Math.min(total, ((clock.monotonic() - began) * perSecond) / 1000);
    for (; sent < due; sent++) {
      const dueMs = began + (sent * 1000) / perSecond;
      const { kind, done } = run(sent);
      running.push(
        done.then(
          () => {
            const taken = times.get(kind) ?? [];
            taken.push(clock.monotonic() - dueMs);
            times.set(kind, taken);
          },
          (error: unknown) => void failures.push(error),
        ),
      );
    }
    if (sent < total) await clock.sleep(TICK_MS, signal).catch(() => {});
  }
  await Promise.all(running);
  if (failures.length > 0) throw failures[0];
  return times;
}
