import { World } from '../../resources/guards/world.ts';
import { ApiError } from '../../resources/meta/api-error.ts';
import { entry } from '../../resources/meta/map-entry.ts';
import { fromStore } from '../registry/store-failure.ts';
import { type Batch, type Entry, type Store, StoreError, type StoreErrorReason } from '../store/store.ts';
import { joinStoreKey, parseStoreKey } from './keys.ts';
import { ObjectCodec } from './object-codec.ts';
import { readAhead } from './read-ahead.ts';
import { RecentEvents } from './recent-events.ts';
import { type CacheEvent, ResourceCache, type RingLimits } from './resource-cache.ts';
import { removedAt, type StoredObject } from './stored-object.ts';

/** Twice what a watcher may be behind before it is ended: it can go on from where it was. Of VMs that is some 5,000 writes. */
const DEFAULT_RING: RingLimits = { events: 20_000, bytes: 16 << 20 };
/** How much history a start reads back, so that watches survive a restart. */
const REPLAY_REVISIONS = 2_000;

/**
 * Everything the server reads: one cache a resource, the fences, and the world that guards judge by, fed by one watch over the whole
 * store. The revision and all events of a batch move in one synchronous step, so "caught up with N" is never said before N was applied.
 */
export class WatchCache {
  readonly world = new World();
  /** How objects are kept in the store. */
  readonly codec: ObjectCodec;
  readonly #store: Store;
  readonly #ring: RingLimits;
  readonly #recent = new RecentEvents();
  readonly #resources = new Map<string, ResourceCache>();
  readonly #fences = new Map<string, number>();
  readonly #assumedFences = new Map<string, number>();
  #revision = 0;
  #base = 0;
  #undone: number;
  #inFlight: Promise<unknown> = Promise.resolve();
  #unbroken = new AbortController();
  #ended = false;
  readonly #waiting = new Set<Waiter>();
  readonly #moved = new Set<(revision: number) => void>();

  constructor(store: Store, ring: RingLimits = DEFAULT_RING, codec: ObjectCodec = new ObjectCodec()) {
    this.#store = store;
    this.codec = codec;
    this.#ring = ring;
    this.#undone = store.rollbacks?.() ?? 0;
  }

  /** Reads the state as it was a little while ago, replays what came since, and follows the store until the signal aborts: `following` ends then, or rejects when the store ends it. */
  async start(signal: AbortSignal): Promise<{ readonly following: Promise<void> }> {
    const target = await this.#latest({ signal });
    const base = Math.max(this.#store.compactedRevision(), target - REPLAY_REVISIONS);
    // History comes in its own time: etcd tells it a thousand revisions at a time, ten times a second.
    const history = readAhead(this.#store, { from: base, upTo: target }, signal);
    history.catch(() => {});
    await this.#load(base, signal).catch((error) => {
      // Another process may compact at any time, up to what is now.
      if (!isStoreError(error, 'Compacted')) throw error;
      return this.#listAgain(signal);
    });
    for (const batch of await history) if (batch.revision > this.#revision) this.#apply(batch);
    const following = this.#follow(signal);
    await this.waitFor(target, signal);
    return { following };
  }

  /** The revision everything here is true at. */
  get revision(): number {
    return this.#revision;
  }

  /** The cache of a resource; empty when nothing of it was ever written. */
  resource(resourceId: string): ResourceCache {
    // Made when first asked for or written: nothing happened to it since the base.
    return entry(this.#resources, resourceId, () => new ResourceCache(this.#base, this.#ring, this.#recent));
  }

  /** The revision a fence was last bumped at, writes in flight included; 0 = never. */
  fence(key: string): number {
    return this.#assumedFences.get(key) ?? this.#fences.get(key) ?? 0;
  }

  /** A bump that was submitted but not yet seen. */
  assumeFence(key: string, revision: number): void {
    this.#assumedFences.set(key, revision);
  }

  /** A write was submitted; `done` settles once it and all before it are durable or undone. */
  submitted(done: Promise<unknown>): void {
    this.#inFlight = done.catch(() => {});
  }

  /**
   * Forgets the writes in flight if the store has undone any. To be called before anything is judged by the world: the news of a failure
   * reaches those who wait for it only later. What was durable but not yet seen is forgotten too; whoever relies on its absence
   * fails a compare and judges again.
   */
  dropUndone(): void {
    const undone = this.#store.rollbacks?.() ?? 0;
    if (undone === this.#undone) return;
    this.#undone = undone;
    this.world.dropFrom(0);
    this.#assumedFences.clear();
  }

  /** Waits for the writes in flight now; false when any was undone, so that what was judged by them must be judged again. */
  async confirmed(): Promise<boolean> {
    const undone = this.#undone;
    await this.#inFlight;
    return (this.#store.rollbacks?.() ?? 0) === undone;
  }

  /** Resolves once the cache has everything up to `revision`. Throws `ServiceUnavailable` when it no longer follows the store. */
  async waitFor(revision: number, signal: AbortSignal): Promise<void> {
    if (this.#revision >= revision) return;
    if (this.#ended) throw cut();
    await new Promise<void>((resolve, reject) => {
      const waiter = { revision, resolve: () => finish(resolve), reject: () => finish(() => reject(cut())) };
      const onAbort = () => finish(() => reject(signal.reason));
      const finish = (then: () => void) => {
        this.#waiting.delete(waiter);
        signal.removeEventListener('abort', onAbort);
        then();
      };
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiting.add(waiter);
    });
  }

  /** Whether every write acknowledged before is in the cache, where that is known without asking anybody. */
  get isCaughtUp(): boolean {
    return this.#store.latest === undefined && this.#store.revision() <= this.#revision;
  }

  /** Resolves once every write acknowledged before, by whatever server, is in the cache. */
  caughtUp(signal: AbortSignal): Promise<void> {
    return this.caughtUpFor({ signal });
  }

  /** The same for somebody whose signal is asked for only when that takes long. */
  async caughtUpFor(asker: { readonly signal: AbortSignal }): Promise<void> {
    const revision = await fromStore(this.#latest(asker));
    if (this.#revision < revision || this.#ended) await this.waitFor(revision, asker.signal);
  }

  /**
   * Aborts when the cache had to list the store anew, because history was compacted away while it was out of reach. What happened in between is known only as
   * its result: who tells every event ends now, and is refused when it comes back with an older revision.
   */
  get unbroken(): AbortSignal {
    return this.#unbroken.signal;
  }

  /** Calls back after each move of the revision; the returned function stops it. */
  onMoved(callback: (revision: number) => void): () => void {
    this.#moved.add(callback);
    return () => this.#moved.delete(callback);
  }

  #latest(asker: { readonly signal: AbortSignal }): Promise<number> {
    return this.#store.latest?.(asker) ?? Promise.resolve(this.#store.revision());
  }

  async #load(base: number, signal: AbortSignal): Promise<void> {
    this.#base = base;
    // Those that were asked for before there was a base.
    for (const cache of this.#resources.values()) cache.forget(base);
    const read = (after?: string) =>
      this.#store.range({ prefix: '', limit: 1000, revision: base, ...(after === undefined ? {} : { after }) }, signal);
    let page = await read();
    for (;;) {
      // The store reads the next page while this one is decoded.
      const next = page.remaining === 0 ? undefined : read(page.entries.at(-1)?.key);
      next?.catch(() => {});
      for (const item of page.entries) this.#put(item.key, item.value, item.modRevision, false);
      if (next === undefined) break;
      page = await next;
    }
    this.#revision = base;
  }

  async #follow(signal: AbortSignal): Promise<void> {
    try {
      while (!signal.aborted) await this.#read(signal);
    } finally {
      this.#ended = true;
      for (const waiter of [...this.#waiting]) waiter.reject();
    }
  }

  /**
   * Follows from where the cache is. A cache that was ended for being slow has missed nothing, nor has one whose store was out of reach: it goes
   * on from there. One that history no longer reaches back to lists again.
   */
  async #read(signal: AbortSignal): Promise<void> {
    try {
      for await (const batch of this.#store.watch(this.#revision, signal)) this.#apply(batch);
    } catch (error) {
      if (isStoreError(error, 'Compacted')) await this.#listAgain(signal);
      else if (!isStoreError(error, 'SlowReader', 'Unavailable')) throw error;
    }
  }

  async #listAgain(signal: AbortSignal): Promise<void> {
    try {
      const { entries, revision } = await this.#store.range({ prefix: '' }, signal);
      this.#replace(entries, revision);
    } catch (error) {
      // A store that is out of reach took its time to say so.
      if (!isStoreError(error, 'Compacted', 'Unavailable')) throw error;
    }
  }

  /** Takes over a whole state in one step. Listeners hear what differs, a removal at the revision of that state. */
  #replace(entries: readonly Entry[], revision: number): void {
    const events: ([ResourceCache, CacheEvent] | undefined)[] = [];
    const there = new Set(entries.map(({ key }) => key));
    for (const key of [...this.#fences.keys()]) if (!there.has(key)) this.#remove(key, revision);
    for (const [id, cache] of this.#resources) {
      for (const object of cache.sorted()) {
        const key = joinStoreKey(id, object.key);
        if (!there.has(key)) events.push(this.#remove(key, revision));
      }
    }
    for (const { key, value, modRevision } of entries) {
      if (modRevision > this.#revision) events.push(this.#put(key, value, modRevision, true));
    }
    for (const cache of this.#resources.values()) cache.forget(revision);
    this.#base = revision;
    const broken = this.#unbroken;
    this.#unbroken = new AbortController();
    broken.abort(new StoreError('Compacted', `what happened before revision ${revision} is not known`));
    this.#moveTo(
      revision,
      events.filter((event) => event !== undefined),
    );
  }

  #apply(batch: Batch): void {
    const events: [ResourceCache, CacheEvent][] = [];
    for (const event of batch.events) {
      const applied =
        event.type === 'put'
          ? this.#put(event.key, event.value, batch.revision, true)
          : this.#remove(event.key, batch.revision);
      if (applied !== undefined) events.push(applied);
    }
    this.#moveTo(batch.revision, events);
  }

  #moveTo(revision: number, events: readonly (readonly [ResourceCache, CacheEvent])[]): void {
    this.#revision = revision;
    for (const [cache, event] of events) cache.publish(event);
    for (const waiter of this.#waiting) if (waiter.revision <= revision) waiter.resolve();
    for (const moved of [...this.#moved]) moved(revision);
  }

  #put(key: string, value: Uint8Array, revision: number, record: boolean): [ResourceCache, CacheEvent] | undefined {
    const parsed = parseStoreKey(key);
    if (parsed === undefined) {
      this.#fences.set(key, revision);
      if ((this.#assumedFences.get(key) ?? revision) <= revision) this.#assumedFences.delete(key);
      return undefined;
    }
    const stored = this.codec.decode(key, value, revision);
    this.world.hold(parsed.resourceId, parsed.objectKey, stored, revision);
    const cache = this.resource(parsed.resourceId);
    if (record) return [cache, cache.put(parsed.objectKey, stored)];
    cache.load(parsed.objectKey, stored);
    return undefined;
  }

  #remove(key: string, revision: number): [ResourceCache, CacheEvent] | undefined {
    const parsed = parseStoreKey(key);
    if (parsed === undefined) {
      this.#fences.delete(key);
      return undefined;
    }
    const cache = this.resource(parsed.resourceId);
    const last: StoredObject | undefined = cache.get(parsed.objectKey);
    this.world.hold(parsed.resourceId, parsed.objectKey, undefined, revision);
    return last === undefined ? undefined : [cache, cache.remove(parsed.objectKey, removedAt(last, revision))];
  }
}

interface Waiter {
  readonly revision: number;
  readonly resolve: () => void;
  readonly reject: () => void;
}

function isStoreError(error: unknown, ...reasons: readonly StoreErrorReason[]): boolean {
  return error instanceof StoreError && reasons.includes(error.reason);
}

function cut(): ApiError {
  return new ApiError('ServiceUnavailable', 'the server no longer follows its store', {
    details: { retryAfterSeconds: 1 },
  });
}
