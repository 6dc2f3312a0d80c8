import type { Clock } from './clock.ts';

/**
 * A signal that aborts with any of those given, or with `late()` after so many milliseconds. `stop` once nobody waits for it any more: a composite
 * signal (`AbortSignal.any`) would stay with those given until it is collected.
 */
export function signalUntil(
  given: readonly AbortSignal[],
  { afterMs, late, clock }: { readonly afterMs: number; readonly late: () => Error; readonly clock: Clock },
): { readonly signal: AbortSignal; readonly stop: () => void } {
  const ended = new AbortController();
  const stopClock = clock.after(Math.max(0, afterMs), () => ended.abort(late()));
  const end = () => ended.abort(given.find(({ aborted }) => aborted)?.reason);
  for (const signal of given) signal.addEventListener('abort', end);
  if (given.some(({ aborted }) => aborted)) end();
  const stop = () => {
    stopClock();
    for (const signal of given) signal.removeEventListener('abort', end);
  };
  return { signal: ended.signal, stop };
}
