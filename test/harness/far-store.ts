import { setTimeout as delay } from 'node:timers/promises';
import type {
  Batch,
  Entry,
  RangeQuery,
  RangeResult,
  StagedTxn,
  Store,
  StoreError,
  TxnRequest,
  TxnResult,
} from '../../apiserver/store/store.ts';

/**
 * A store behind a network, as etcd is: nothing is staged, answers come late, and the revision it knows is the last one it was told.
 * `hold` keeps the watch back.
 */
export class FarStore implements Store {
  readonly #inner: Store;
  readonly #delayMs: () => number;
  #known: number;
  #open = Promise.resolve();
  /** Runs before each transaction is sent: what somebody else does meanwhile. */
  beforeTxn: (request: TxnRequest) => Promise<void> = async () => {};
  sent = 0;

  constructor(inner: Store, delayMs: () => number = () => 0) {
    this.#inner = inner;
    this.#delayMs = delayMs;
    this.#known = inner.revision();
  }

  get uid(): string {
    return this.#inner.uid;
  }

  get lost(): Promise<StoreError> {
    return this.#inner.lost;
  }

  /** Holds batches back until the function it answers is called. */
  hold(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#open = promise;
    return resolve;
  }

  revision(): number {
    return this.#known;
  }

  compactedRevision(): number {
    return this.#inner.compactedRevision();
  }

  get(key: string, signal?: AbortSignal): Promise<Entry | undefined> {
    return this.#inner.get(key, signal);
  }

  range(query: RangeQuery, signal?: AbortSignal): Promise<RangeResult> {
    return this.#inner.range(query, signal);
  }

  txn(request: TxnRequest): StagedTxn {
    this.sent++;
    return { done: this.#send(request) };
  }

  async #send(request: TxnRequest): Promise<TxnResult> {
    await delay(this.#delayMs());
    await this.beforeTxn(request);
    const result = await this.#inner.txn(request).done;
    await delay(this.#delayMs());
    if (result.ok) this.#known = Math.max(this.#known, result.revision);
    return result;
  }

  async *watch(from: number, signal: AbortSignal): AsyncGenerator<Batch> {
    for await (const batch of this.#inner.watch(from, signal)) {
      await this.#open;
      await delay(this.#delayMs());
      this.#known = Math.max(this.#known, batch.revision);
      yield batch;
    }
  }

  compact(revision: number, signal?: AbortSignal): Promise<void> {
    return this.#inner.compact(revision, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}
