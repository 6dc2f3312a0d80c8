import type { ListOptions, ResourceClient } from '../../apiserver/client/client.ts';
import type { WatchEvent } from '../../apiserver/client/watch.ts';
import type { Clock } from '../../resources/ambient/clock.ts';
import { ApiError } from '../../resources/meta/api-error.ts';
import { type KubeObject, objectKey } from '../../resources/meta/object.ts';
import { apiVersionOf } from '../../resources/meta/resource-id.ts';
import type { Cache } from './cache.ts';
import {
  FIRST_STATE,
  type Happening,
  type Listing,
  type ReflectorState,
  transition,
  type Waiting,
  type Watching,
  waitMs,
} from './reflector-state.ts';

const PAGE_SIZE = 500;
/** A watch that ended sooner than this without a word was no watch. */
const FAIR_WATCH_MS = 5_000;
const SHORTEST_WATCH_S = 300;
/** How long past its agreed end a silent watch is believed in. */
const WATCH_OVERTIME_MS = 30_000;

interface ReflectorOptions<T extends KubeObject> {
  readonly resource: ResourceClient<T>;
  /** Written by this reflector alone. */
  readonly cache: Cache<T>;
  readonly select?: Pick<ListOptions, 'labelSelector' | 'fieldSelector'>;
  /** What to keep of each object; everything but who owns which of its fields when absent. Must keep kind, apiVersion and the identity in metadata. */
  readonly keep?: (object: T) => T;
  /**
   * Whether the server is to say every second how far its store has come, which is so when absent. Without it whoever was told nothing for long may have to
   * list again when its watch ends: where what is selected is few, that costs less.
   */
  readonly bookmarks?: boolean;
  readonly clock: Clock;
  /** A number in [0, 1). */
  readonly random: () => number;
  /** The longest wait after failures, in milliseconds; 30 s when absent. */
  readonly longestWaitMs?: number;
}

export interface ReflectorHealth {
  readonly at: ReflectorState['at'];
  readonly synced: boolean;
  /** Failures since something last went right. */
  readonly failures: number;
  readonly lastError?: { readonly message: string; readonly atMs: number };
}

/**
 * Keeps a cache equal to a resource of the server: lists it, follows its changes, and begins again where it must. Every failure is
 * retried for ever with growing waits and shows in `health`; the cache keeps showing the last whole truth meanwhile.
 */
export class Reflector<T extends KubeObject> {
  readonly #options: ReflectorOptions<T>;
  #state: ReflectorState = FIRST_STATE;
  #items: T[] = [];
  #lastError: ReflectorHealth['lastError'];
  /** What it has may be of a history that is no more. */
  #outdated = false;
  #endWatch: (() => void) | undefined;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
  }

  get synced(): boolean {
    return this.#options.cache.synced;
  }

  get health(): ReflectorHealth {
    const state = this.#state.at === 'waiting' ? this.#state.next : this.#state;
    return {
      at: this.#state.at,
      synced: this.synced,
      failures: state.at === 'stopped' ? 0 : state.failures,
      ...(this.#lastError === undefined ? {} : { lastError: this.#lastError }),
    };
  }

  /** Lists anew, soon: the version that it follows means something else since the store was put back. */
  relist(): void {
    this.#outdated = true;
    this.#endWatch?.();
  }

  /** Runs until the signal aborts, then resolves. Call it once. */
  async run(signal: AbortSignal): Promise<void> {
    for (;;) {
      const state = this.#state;
      if (state.at === 'stopped') return;
      this.#move(await this.#step(state, signal));
    }
  }

  #move(happening: Happening): void {
    this.#state = transition(this.#state, happening);
  }

  async #step(state: Listing | Watching | Waiting, signal: AbortSignal): Promise<Happening> {
    if (signal.aborted) return { what: 'stopped' };
    try {
      if (state.at === 'listing') return await this.#list(state, signal);
      if (state.at === 'watching' && this.#outdated) return { what: 'expired' };
      if (state.at === 'watching') return await this.#watch(state, signal);
      const { clock, random, longestWaitMs } = this.#options;
      await clock.sleep(waitMs(state.next.failures, random(), longestWaitMs), signal);
      return { what: 'waited' };
    } catch (error) {
      if (signal.aborted) return { what: 'stopped' };
      this.#lastError = { message: String(error), atMs: this.#options.clock.now() };
      return { what: isExpired(error) || (state.at === 'watching' && this.#outdated) ? 'expired' : 'failed' };
    }
  }

  async #list(state: Listing, signal: AbortSignal): Promise<Happening> {
    if (state.continueToken === undefined) {
      this.#items = [];
      this.#outdated = false;
    }
    const { resource, select, cache } = this.#options;
    const page = await resource.list(
      {
        ...select,
        ...(state.paged ? { limit: PAGE_SIZE } : {}),
        ...(state.continueToken === undefined ? {} : { continue: state.continueToken }),
      },
      signal,
    );
    for (const item of page.items) this.#items.push(this.#kept(item));
    const { continue: more, resourceVersion } = page.metadata;
    if (more !== undefined && more !== '') return { what: 'page', continueToken: more };
    const items = this.#items;
    this.#items = [];
    cache.replace(items);
    return { what: 'listed', resourceVersion };
  }

  async #watch(state: Watching, signal: AbortSignal): Promise<Happening> {
    const { resource, select, bookmarks = true, clock, random } = this.#options;
    const timeoutSeconds = SHORTEST_WATCH_S + Math.floor(random() * SHORTEST_WATCH_S);
    const overdue = new AbortController();
    const cancel = clock.after(timeoutSeconds * 1000 + WATCH_OVERTIME_MS, () =>
      overdue.abort(new Error(`the watch did not end ${WATCH_OVERTIME_MS / 1000} s after its time`)),
    );
    this.#endWatch = () => overdue.abort(new Error('the list is to be made anew'));
    const startedMs = clock.monotonic();
    let moved = false;
    try {
      const events = await resource.watch(
        {
          ...select,
          resourceVersion: state.resourceVersion,
          ...(bookmarks ? { allowWatchBookmarks: true } : {}),
          timeoutSeconds,
        },
        AbortSignal.any([signal, overdue.signal]),
      );
      for await (const event of events) {
        this.#apply(event);
        this.#move({ what: 'moved', resourceVersion: event.object.metadata.resourceVersion });
        moved = true;
      }
    } finally {
      cancel();
      this.#endWatch = undefined;
    }
    if (signal.aborted) return { what: 'stopped' };
    overdue.signal.throwIfAborted();
    if (moved || clock.monotonic() - startedMs >= FAIR_WATCH_MS) return { what: 'ended' };
    throw new Error('the watch ended as soon as it began');
  }

  #apply(event: WatchEvent<T>): void {
    const { cache } = this.#options;
    switch (event.type) {
      case 'ADDED':
      case 'MODIFIED':
        cache.put(this.#kept(event.object));
        return;
      case 'DELETED':
        cache.remove(objectKey(event.object.metadata));
        return;
      case 'BOOKMARK':
        return;
      default:
        throw new Error(`the server sent a watch event of unknown type ${event.type satisfies never}`);
    }
  }

  /** Items of core lists may come without kind and apiVersion; objects of a cache always have them. */
  #kept(object: T): T {
    const { keep, resource } = this.#options;
    const { kind } = resource.ref;
    const whole = object.kind === undefined ? { ...object, kind, apiVersion: apiVersionOf(resource.ref) } : object;
    return keep === undefined ? withoutOwners(whole) : keep(whole);
  }
}

/** The owners of its fields are most of what an object is, and whoever writes what they changed needs none of them. */
function withoutOwners<T extends KubeObject>(object: T): T {
  if (object.metadata.managedFields === undefined) return object;
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

function isExpired(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  const tooNew = error.details?.causes?.some((cause) => cause.reason === 'ResourceVersionTooLarge') ?? false;
  return error.reason === 'Expired' || tooNew;
}
