import type { Clock } from './clock.ts';

/** Does the work under a signal that aborts with `signal`, or after `ms` milliseconds. */
export async function withDeadline<T>(
  clock: Clock,
  ms: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  const cancel = clock.after(ms, () => late.abort(new Error(`not within ${ms} ms`)));
  try {
    return await work(AbortSignal.any([signal, late.signal]));
  } finally {
    cancel();
  }
}
