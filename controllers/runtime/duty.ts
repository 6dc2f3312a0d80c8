import type { ApiClient } from '../../apiserver/client/client.ts';
import type { Clock } from '../../resources/ambient/clock.ts';
import type { Logger } from '../../resources/ambient/log.ts';
import { type KubeObject, objectKey } from '../../resources/meta/object.ts';
import type { CacheView, Change } from './cache.ts';
import type { EventRecorder } from './events.ts';
import type { Caches } from './informers.ts';

/** What came of looking at a key. Nothing: done until something changes. A throw means: again, with backoff, and somebody should know. */
export interface Outcome {
  /** Nothing is wrong; look again after this many milliseconds. */
  readonly requeueAfterMs?: number;
  /** Nothing is wrong, but it could not be finished (a lost race): again, with backoff. */
  readonly again?: boolean;
}

export type Enqueue = (key: string, afterMs?: number) => void;

/** What wakes a duty. */
export interface Watch {
  /** Begins to enqueue, for what is there already too; the returned function ends it. */
  start(enqueue: Enqueue): () => void;
  /** Resolves when a whole list has been seen. */
  whenSynced(signal: AbortSignal): Promise<void>;
}

/** A controller: looks at one key at a time and brings the world to where it should be, from state alone. */
export interface Duty {
  readonly name: string;
  readonly watches: readonly Watch[];
  /** How many keys are looked at side by side; never the same one twice. */
  readonly workers: number;
  /** After how many milliseconds a look is given up as stuck. Default 60 s. */
  readonly deadlineMs?: number;
  reconcile(key: string, signal: AbortSignal): Promise<Outcome>;
}

/** What a duty is made of. */
export interface DutyParts {
  /** Writes as this duty. */
  readonly client: ApiClient;
  readonly informers: Caches;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly log: Logger;
}

export type MakeDuty = (parts: DutyParts) => Duty;

/** Wakes for each change of a cache, with the keys that `keysOf` makes of it; `delayMs` gathers changes that come in a burst. */
export function watchCache<T extends KubeObject>(
  cache: CacheView<T>,
  keysOf: (change: Change<T>) => Iterable<string>,
  delayMs = 0,
): Watch {
  return {
    start(enqueue) {
      const wake = (change: Change<T>) => {
        for (const key of keysOf(change)) enqueue(key, delayMs);
      };
      const unsubscribe = cache.subscribe(wake);
      for (const after of cache.list()) {
        for (const key of keysOf({ key: objectKey(after.metadata), before: undefined, after })) enqueue(key);
      }
      return unsubscribe;
    },
    whenSynced: (signal) => cache.whenSynced(signal),
  };
}

/** Keeps something that is derived from a cache up with it, from what is there already on. Enqueues nothing. */
export function follow<T extends KubeObject>(cache: CacheView<T>, apply: (change: Change<T>) => void): Watch {
  return watchCache(cache, (change) => {
    apply(change);
    return [];
  });
}
