import type { Clock } from './clock.ts';

/** No answer came in time; what was asked may have been done. */
export class NoAnswerError extends Error {
  constructor(ms: number) {
    super(`no answer within ${ms / 1000} s`);
    this.name = 'NoAnswerError';
  }
}

/** Does the work under a signal that aborts with `signal`, or with a `NoAnswerError` after `ms` milliseconds. */
export async function withDeadline<T>(
  clock: Clock,
  ms: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  const cancel = clock.after(ms, () => late.abort(new NoAnswerError(ms)));
  try {
    return await work(AbortSignal.any([signal, late.signal]));
  } finally {
    cancel();
  }
}
