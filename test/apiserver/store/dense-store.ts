import { ROOM } from '../../../apiserver/store/etcd/revisions.ts';
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
} from '../../../apiserver/store/store.ts';
import { until } from '../../harness/until.ts';

/** The revisions of a store that has gaps, in the order they came: the first is 1. Outlives the store when that is opened again. */
export class DenseNumbers {
  readonly #revisions = [0];

  add(revision: number): void {
    if (revision > (this.#revisions.at(-1) ?? 0)) this.#revisions.push(revision);
  }

  get last(): number {
    return this.#revisions.at(-1) ?? 0;
  }

  /** How many came up to a revision. */
  numberOf(revision: number): number {
    return this.#revisions.findLastIndex((each) => each <= revision);
  }

  /** One that has not come yet is the one it will be if nothing is done together with anything until then, in a store that is at `present`. */
  revisionOf(number: number, present: number): number {
    const ahead = number - this.#revisions.length + 1;
    return this.#revisions[number] ?? (number < 0 ? number : present + ahead * ROOM);
  }
}

/** A store whose revisions have gaps, as one without: so the contract, which counts, can be held against it. */
export class DenseStore implements Store {
  readonly uid: string;
  readonly lost: Promise<StoreError>;
  readonly #store: Store;
  readonly #numbers: DenseNumbers;
  readonly #ending = new AbortController();
  /** Up to where it was counted. */
  #position = 0;

  constructor(store: Store, numbers: DenseNumbers) {
    this.uid = store.uid;
    this.lost = store.lost;
    this.#store = store;
    this.#numbers = numbers;
    void this.#count();
  }

  revision(): number {
    return this.#numbers.numberOf(this.#store.revision());
  }

  compactedRevision(): number {
    return this.#numbers.numberOf(this.#store.compactedRevision());
  }

  async get(key: string, signal?: AbortSignal): Promise<Entry | undefined> {
    const entry = await this.#store.get(key, signal);
    await this.#counted(entry?.modRevision ?? 0);
    return entry && this.#entry(entry);
  }

  async range(query: RangeQuery, signal?: AbortSignal): Promise<RangeResult> {
    const { revision } = query;
    const pinned = revision === undefined ? {} : { revision: this.#revisionOf(revision) };
    const result = await this.#store.range({ ...query, ...pinned }, signal);
    await this.#counted(this.#store.revision());
    const entries = result.entries.map((entry) => this.#entry(entry));
    return { ...result, entries, revision: this.#numbers.numberOf(result.revision) };
  }

  txn(request: TxnRequest): StagedTxn {
    const compares = request.compares.map(({ key, revision }) => ({
      key,
      revision: this.#revisionOf(revision),
    }));
    const { done } = this.#store.txn({ ...request, compares });
    return { done: done.then((result) => this.#result(result)) };
  }

  async *watch(from: number, signal: AbortSignal): AsyncGenerator<Batch> {
    for await (const batch of this.#store.watch(this.#revisionOf(from), signal)) {
      if (batch.events.length === 0) continue;
      await this.#counted(batch.revision);
      yield { ...batch, revision: this.#numbers.numberOf(batch.revision) };
    }
  }

  async compact(revision: number, signal?: AbortSignal): Promise<void> {
    if (this.#position < this.#store.revision()) await this.#counted(this.#store.revision());
    await this.#store.compact(this.#revisionOf(revision), signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#store[Symbol.asyncDispose]();
    this.#ending.abort();
  }

  async #result(result: TxnResult): Promise<TxnResult> {
    await this.#counted(result.ok ? this.#store.revision() : Math.max(...result.found.values()));
    if (result.ok) return { ok: true, revision: this.#numbers.numberOf(result.revision) };
    return { ok: false, found: new Map([...result.found].map(([key, at]) => [key, this.#numbers.numberOf(at)])) };
  }

  #revisionOf(number: number): number {
    return this.#numbers.revisionOf(number, this.#store.revision());
  }

  #entry(entry: Entry): Entry {
    const { modRevision, createRevision } = entry;
    const created = this.#numbers.numberOf(createRevision);
    return { ...entry, modRevision: this.#numbers.numberOf(modRevision), createRevision: created };
  }

  /** A revision may be the end of what came with others, which has no batch of its own with events. */
  async #counted(revision: number): Promise<void> {
    await until('it is counted', () => this.#ending.signal.aborted || this.#position >= revision);
  }

  async #count(): Promise<void> {
    const { signal } = this.#ending;
    this.#position = this.#numbers.last;
    while (!signal.aborted) {
      try {
        for await (const batch of this.#store.watch(this.#position, signal)) {
          if (batch.events.length > 0) this.#numbers.add(batch.revision);
          this.#position = batch.revision;
        }
      } catch (error) {
        if (!(error instanceof StoreError) || error.reason !== 'SlowReader') return;
      }
    }
  }
}
