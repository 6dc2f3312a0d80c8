import { ApiError } from '../../resources/meta/api-error.ts';
import type { Eventual } from '../eventual.ts';
import type { Caller } from '../requests/server-request.ts';
import type { ServerParts } from './verb-context.ts';

const PATIENCE_MS = 3_000;

/**
 * Waits until the cache is at a revision, and at least at every acknowledged write. A revision that does not come within three
 * seconds is a 504 that clients know by its cause (`ResourceVersionTooLarge`). 0 means whatever is at hand.
 */
export function reach(parts: ServerParts, revision: number | undefined, caller: Caller): Eventual<void> {
  if (revision === 0) return;
  const isReached = revision === undefined || revision <= parts.cache.revision;
  if (!isReached || !parts.cache.isCaughtUp) return wait(parts, revision, caller);
}

async function wait(parts: ServerParts, revision: number | undefined, caller: Caller): Promise<void> {
  await parts.cache.caughtUpFor(caller);
  if (revision === undefined || revision <= parts.cache.revision) return;
  const patience = new AbortController();
  const stop = parts.clock.after(PATIENCE_MS, () => patience.abort(tooLarge(revision, parts.cache.revision)));
  try {
    await parts.cache.waitFor(revision, AbortSignal.any([caller.signal, patience.signal]));
  } finally {
    stop();
  }
}

function tooLarge(revision: number, current: number): ApiError {
  const message = `Too large resource version: ${revision}, current: ${current}`;
  return new ApiError('Timeout', `Timeout: ${message}`, {
    details: {
      retryAfterSeconds: 1,
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    },
  });
}
