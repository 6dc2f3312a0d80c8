import type { Clock } from '../../resources/ambient/clock.ts';
import type { Logger } from '../../resources/ambient/log.ts';
import type { Kind } from '../../resources/meta/define-kind.ts';
import { resourceId } from '../../resources/meta/resource-id.ts';
import { parseStoreKey, resourcePrefix } from '../cache/keys.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import { ApiClient } from '../client/client.ts';
import type { Transport } from '../client/transport.ts';
import { unless } from '../client/unless.ts';
import { ANSWERS } from '../idempotency/kept-answer.ts';
import { resealedAnswer } from '../idempotency/reseal-answer.ts';
import { isStoreAway } from '../servers/is-store-away.ts';
import type { Entry, Store } from '../store/store.ts';
import { isDamaged } from './damage.ts';
import { Sealer } from './sealer.ts';

interface ResealDeps {
  readonly store: Store;
  readonly cache: WatchCache;
  readonly sealer: Sealer;
  /** Those whose objects are sealed. */
  readonly kinds: readonly Kind[];
  readonly transport: Transport;
  readonly clock: Clock;
  readonly log: Logger;
}

/** How often what is behind is looked for. Another server may seal with the old key until it has heard of the new one. */
const EVERY_MS = 15_000;
const RETRY_MS = 3_000;
const PAGE = 200;
/** Objects written one after the other before others get a turn. */
const SLICE = 20;
const PAUSE_MS = 20;

/**
 * Seals what the store holds with the newest key, where it is sealed with another. Objects are written as they are, by an empty patch: their
 * resourceVersion moves and watchers are told, as with any write. Where it stops, the next run or another server goes on: what is done is known
 * by its seal.
 */
export class Resealer {
  readonly #deps: ResealDeps;
  #behind: number | undefined;
  #wake: () => void = () => {};

  constructor(deps: ResealDeps) {
    this.#deps = deps;
  }

  /** How many values were sealed with another key when it was last looked; undefined before that. */
  get behind(): number | undefined {
    return this.#behind;
  }

  /** The keys changed: what is behind is to be found out anew. */
  keysChanged(): void {
    this.#behind = undefined;
    this.#wake();
  }

  /** Until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const waitMs = await this.#round(signal);
      await this.#rest(waitMs, signal);
    }
  }

  async #round(signal: AbortSignal): Promise<number> {
    const { log, sealer } = this.#deps;
    const keyId = sealer.currentId;
    try {
      await this.#resealObjects(signal);
      await this.#resealAnswers(signal);
      const left = await this.#count(signal);
      // Counted with one key and told of another it would be a lie.
      if (keyId === sealer.currentId) this.#behind = left;
      return left === 0 ? EVERY_MS : RETRY_MS;
    } catch (error) {
      if (!signal.aborted && !isStoreAway(error)) log.error('not all is sealed anew yet', { error: String(error) });
      return RETRY_MS;
    }
  }

  #objectsBehind(kind: Kind) {
    const { cache } = this.#deps;
    return cache
      .resource(resourceId(kind))
      .sorted()
      .filter(({ object }) => cache.codec.isBehind(object) && !isDamaged(object));
  }

  async #resealObjects(signal: AbortSignal): Promise<void> {
    const { kinds, transport, clock } = this.#deps;
    for (const kind of kinds) {
      for (const [at, { object }] of this.#objectsBehind(kind).entries()) {
        const { name, namespace } = object.metadata;
        const objects = new ApiClient(transport).resource(kind, namespace);
        // Deleted meanwhile there is nothing left to seal.
        await objects.patch(name, {}, {}, signal).catch(unless('NotFound'));
        if (at % SLICE === SLICE - 1) await clock.sleep(PAUSE_MS, signal);
      }
    }
  }

  async #resealAnswers(signal: AbortSignal): Promise<void> {
    const { store, cache, clock } = this.#deps;
    for await (const entry of this.#answersBehind(signal)) {
      const { key, modRevision } = entry;
      const puts = [{ key, value: resealedAnswer(cache.codec, entry) }];
      await store.txn({ compares: [{ key, revision: modRevision }], puts, deletes: [] }).done;
      await clock.sleep(0, signal);
    }
  }

  /** Answers kept for Idempotency-Keys that are sealed with another key, outside or inside. */
  #answersBehind(signal: AbortSignal): AsyncGenerator<Entry> {
    return this.#valuesBehind(ANSWERS, signal);
  }

  /** What the store has that is sealed with another key: with one that is here, as nothing else can be sealed anew. */
  async *#valuesBehind(prefix: string, signal: AbortSignal): AsyncGenerator<Entry> {
    const { store, sealer } = this.#deps;
    if (sealer.ids.length === 1) return;
    let after: string | undefined;
    for (;;) {
      const page = { prefix, limit: PAGE, ...(after === undefined ? {} : { after }) };
      const { entries, remaining } = await store.range(page, signal);
      for (const entry of entries) {
        const keyId = Sealer.keyIdOf(entry.value);
        if (keyId !== undefined && keyId !== sealer.currentId && sealer.ids.includes(keyId)) yield entry;
      }
      after = entries.at(-1)?.key;
      if (remaining === 0) return;
    }
  }

  /** Counted in the store itself, as a key may be dropped when this is nothing. What cannot be opened with any key is not waited for. */
  async #count(signal: AbortSignal): Promise<number> {
    const { cache, kinds } = this.#deps;
    // What was sealed with the old key a moment ago may still be under way.
    await cache.confirmed();
    await cache.caughtUp(signal);
    let count = 0;
    for await (const _ of this.#answersBehind(signal)) count++;
    for (const kind of kinds) {
      for await (const { key } of this.#valuesBehind(resourcePrefix(kind), signal)) {
        const there = cache.resource(resourceId(kind)).get(parseStoreKey(key)?.objectKey ?? '');
        if (there === undefined || !isDamaged(there.object)) count++;
      }
    }
    return count;
  }

  async #rest(ms: number, signal: AbortSignal): Promise<void> {
    const waking = new AbortController();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    const ended = AbortSignal.any([signal, waking.signal]);
    const slept = this.#deps.clock.sleep(ms, ended).catch(() => {});
    await Promise.race([slept, promise]);
    waking.abort();
    this.#wake = () => {};
  }
}
