import type { Clock } from '../../../resources/ambient/clock.ts';

/** Runs `work` with a signal that aborts after `ms`, or when the given one does. */
export async function within<T>(
  clock: Clock,
  ms: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  const cancel = clock.after(ms, () => late.abort(new Error(`no answer within ${ms / 1000} s`)));
  try {
    return await work(AbortSignal.any([signal, late.signal]));
  } finally {
    cancel();
  }
}
