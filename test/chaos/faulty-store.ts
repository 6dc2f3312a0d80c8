import {
  type Batch,
  type Entry,
  type RangeQuery,
  type RangeResult,
  type StagedTxn,
  type Store,
  StoreError,
  type TxnRequest,
  type TxnResult,
} from '../../apiserver/store/store.ts';
import type { Clock } from '../../resources/ambient/clock.ts';
import type { Random } from '../fuzz/random.ts';

const CALL_MS = 10_000;
const TRY_MS = 100;
const LATEST_MS = 5_000;

/**
 * One process's way to a store that several share, over a network that fails in every way: calls and the watch are late, nothing gets through for a while, writes are lost on the way there (or
 * arrive late) or their answers on the way back. It keeps the store's contract nevertheless, as the store in etcd does: nothing is staged, a write is acknowledged
 * once the watch has shown it, and who was not answered is told so.
 */
export class FaultyStore implements Store {
  readonly uid: string;
  readonly lost: Promise<StoreError>;
  readonly #inner: Store;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #ending = new AbortController();
  readonly #moved = new Set<() => void>();
  #cut = new AbortController();
  #known: number;
  /** Nothing gets through. */
  away = false;
  /** The longest way there or back, in milliseconds. */
  slowMs = 10;
  /** One write in so many loses its way there or back; 0: none. */
  losesOneIn = 0;

  constructor(inner: Store, deps: { clock: Clock; random: Random }) {
    this.uid = inner.uid;
    this.lost = inner.lost;
    this.#inner = inner;
    this.#clock = deps.clock;
    this.#random = deps.random;
    this.#known = inner.revision();
    void this.#follow();
  }

  /** Ends all watches; they go on from where they were, if that is still there. */
  cutWatches(): void {
    this.#cut.abort(new StoreError('Unavailable', 'a test cut the watch'));
    this.#cut = new AbortController();
  }

  revision(): number {
    return this.#known;
  }

  compactedRevision(): number {
    return this.#inner.compactedRevision();
  }

  async latest(asker?: { readonly signal: AbortSignal }): Promise<number> {
    const signal = asker?.signal;
    await this.#through(signal);
    const revision = this.#inner.revision();
    await this.#way(signal);
    await this.#reached(revision, signal);
    return revision;
  }

  async get(key: string, signal?: AbortSignal): Promise<Entry | undefined> {
    await this.#through(signal);
    const entry = await this.#inner.get(key, signal);
    await this.#way(signal);
    return entry;
  }

  async range(query: RangeQuery, signal?: AbortSignal): Promise<RangeResult> {
    await this.#through(signal);
    const result = await this.#inner.range(query, signal);
    await this.#way(signal);
    await this.#reached(result.revision, signal);
    return result;
  }

  txn(request: TxnRequest): StagedTxn {
    if (this.#ending.signal.aborted) throw closed();
    return { done: this.#send(request) };
  }

  async *watch(from: number, signal: AbortSignal): AsyncGenerator<Batch> {
    await this.#through(signal);
    const ending = AbortSignal.any([signal, this.#cut.signal, this.#ending.signal]);
    for await (const batch of this.#inner.watch(from, ending)) {
      while (this.#known < batch.revision && !ending.aborted) await this.#move(ending);
      if (ending.aborted) break;
      yield batch;
    }
    if (!signal.aborted) throw ending.reason;
  }

  compact(revision: number, signal?: AbortSignal): Promise<void> {
    return this.#inner.compact(revision, signal);
  }

  /** As a crash of its process: what is on its way stays so. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort(closed());
  }

  async #send(request: TxnRequest): Promise<TxnResult> {
    await this.#through();
    const fate = this.#losesOneIn() ? this.#random.pick(['gone', 'late', 'unanswered', 'unsent'] as const) : 'done';
    if (fate === 'unsent') throw new StoreError('Unavailable', 'a test kept the write back');
    if (fate === 'late')
      void this.#clock.sleep(this.#random.below(LATEST_MS)).then(() => this.#inner.txn(request).done);
    if (fate === 'gone' || fate === 'late') {
      await this.#clock.sleep(this.#random.below(CALL_MS));
      throw new StoreError('UnknownOutcome', 'a test lost the write on its way');
    }
    const result = await this.#inner.txn(request).done;
    await this.#way();
    if (fate === 'unanswered') throw new StoreError('UnknownOutcome', 'a test lost the answer');
    if (result.ok) await this.#reached(result.revision).catch(unknown);
    return result;
  }

  #losesOneIn(): boolean {
    return this.losesOneIn > 0 && this.#random.oneIn(this.losesOneIn);
  }

  /** The way there, once there is one. */
  async #through(signal?: AbortSignal): Promise<void> {
    const deadline = this.#clock.monotonic() + CALL_MS;
    while (this.away) {
      if (this.#clock.monotonic() >= deadline) throw new StoreError('Unavailable', 'a test cut the way to the store');
      await this.#clock.sleep(TRY_MS, signal);
      this.#ending.signal.throwIfAborted();
    }
    await this.#way(signal);
  }

  async #way(signal?: AbortSignal): Promise<void> {
    await this.#clock.sleep(this.#random.below(this.slowMs + 1), signal);
    this.#ending.signal.throwIfAborted();
  }

  /** The one watch that says how far this process has been told. */
  async #follow(): Promise<void> {
    for await (const { revision } of this.#inner.watch(this.#known, this.#ending.signal)) {
      while (this.away && !this.#ending.signal.aborted) await this.#clock.sleep(TRY_MS);
      await this.#clock.sleep(this.#random.below(this.slowMs + 1));
      this.#known = revision;
      for (const moved of [...this.#moved]) moved();
    }
  }

  async #reached(revision: number, signal?: AbortSignal): Promise<void> {
    const late = new AbortController();
    const stop = this.#clock.after(CALL_MS, () => late.abort(new StoreError('Unavailable', 'the watch is too late')));
    const ending = AbortSignal.any([late.signal, this.#ending.signal, ...(signal === undefined ? [] : [signal])]);
    try {
      while (this.#known < revision) {
        ending.throwIfAborted();
        await this.#move(ending);
      }
    } finally {
      stop();
    }
  }

  /** Resolves when the watch has moved, or the signal aborts. */
  #move(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#moved.add(resolve);
    signal.addEventListener('abort', () => resolve(), { once: true });
    return promise.finally(() => this.#moved.delete(resolve));
  }
}

const closed = () => new StoreError('Closed', 'the store is closed');

function unknown(cause: unknown): never {
  throw new StoreError('UnknownOutcome', 'the write was not seen on the watch', { cause });
}
