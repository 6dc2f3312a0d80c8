import type { Clock } from '../../resources/ambient/clock.ts';
import { signalUntil } from '../../resources/ambient/signal-until.ts';
import { ApiError } from '../../resources/meta/api-error.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import type { Caller } from '../requests/server-request.ts';
import type { Store, TxnRequest } from '../store/store.ts';
import type { KeyQueue } from './key-queue.ts';

const RACE_DEADLINE_MS = 5_000;

export interface RaceDeps {
  readonly store: Store;
  readonly cache: WatchCache;
  readonly clock: Clock;
  /** Where writes that lost a race wait for one another. */
  readonly races: KeyQueue;
}

/** The patience of one write with others that win: after the first loss it queues at the key it lost by, and after five seconds it gives up. */
export class RaceTurn implements AsyncDisposable {
  readonly #deps: RaceDeps;
  readonly #caller: Caller;
  readonly #began: number;
  #waiting: ReturnType<typeof signalUntil> | undefined;
  #leave: (() => void) | undefined;

  constructor(deps: RaceDeps, caller: Caller) {
    this.#deps = deps;
    this.#caller = caller;
    this.#began = deps.clock.monotonic();
  }

  /** Aborts with the request, or when patience has run out. Made when first asked for: most writes go through without waiting for another. */
  get signal(): AbortSignal {
    this.#waiting ??= this.#beginToWait();
    return this.#waiting.signal;
  }

  #beginToWait(): ReturnType<typeof signalUntil> {
    const { clock } = this.#deps;
    const afterMs = RACE_DEADLINE_MS - (clock.monotonic() - this.#began);
    return signalUntil([this.#caller.signal], { afterMs, late: busy, clock });
  }

  /** Waits for the turn to try again, and for the cache to show what won. Throws `ServiceUnavailable` when that takes too long. */
  async lost(compares: TxnRequest['compares'], found: ReadonlyMap<string, number>): Promise<void> {
    this.signal.throwIfAborted();
    const key = compares.find((compare) => found.get(compare.key) !== compare.revision)?.key;
    if (key !== undefined) this.#leave ??= await this.#deps.races.enter(key, this.signal);
    await this.#deps.cache.waitFor(Math.max(this.#deps.store.revision(), ...found.values()), this.signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#waiting?.stop();
    this.#leave?.();
  }
}

function busy(): ApiError {
  return new ApiError(
    'ServiceUnavailable',
    'the object is being changed by others faster than this write could be judged; try again',
    { details: { retryAfterSeconds: 1 } },
  );
}
