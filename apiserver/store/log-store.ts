import { setImmediate as nextTurn } from 'node:timers/promises';
import type { BeforeCommit, Engine, LogRow } from './engine.ts';
import { KeyIndex, type Undo } from './key-index.ts';
import {
  type Batch,
  type Entry,
  type RangeQuery,
  type RangeResult,
  type StagedTxn,
  type Store,
  StoreError,
  type StoreEvent,
  type StoreOrigin,
  type StoreSize,
  type TxnRequest,
  type TxnResult,
} from './store.ts';
import { checkTxn } from './txn-check.ts';
import { WatchHub } from './watch-hub.ts';

export interface LogStoreOptions {
  /** How many bytes of batches are kept for watchers; who falls further behind is ended. Default 8 MiB. */
  readonly watchBufferBytes?: number;
  /** For tests: holds commits back or makes them fail. */
  readonly beforeCommit?: BeforeCommit;
}

const DEFAULT_WATCH_BUFFER_BYTES = 8 * 1024 * 1024;
/** One commit takes at most this much, so that no writer waits behind an endless one. */
const GROUP = { transactions: 256, bytes: 1_000_000 } as const;

/** A transaction that was judged and waits for its answer to be durable. Without rows it waits only for those before it. */
interface Pending {
  readonly rows: readonly LogRow[];
  readonly bytes: number;
  readonly undo: Undo;
  readonly result: TxnResult;
  readonly resolve: (result: TxnResult) => void;
  readonly reject: (error: StoreError) => void;
}

/**
 * A store over one engine that this object alone writes to.
 *
 * It judges compares at once against an index of all live keys, staged ones included, gives out the revision, and queues. One
 * commit is under way at a time; whatever queued meanwhile is the next one (natural group commit). Answers are given and watches
 * published only after the commit; a compare that failed because of a staged write waits for that write too, so no answer ever
 * rests on something that may yet be undone.
 *
 * The queue holds one entry for each caller not yet answered: callers bound it.
 */
export class LogStore implements Store {
  readonly uid: string;
  readonly origin?: StoreOrigin;
  readonly lost: Promise<StoreError>;
  readonly #engine: Engine;
  readonly #beforeCommit: BeforeCommit | undefined;
  readonly #index: KeyIndex;
  readonly #hub: WatchHub;
  readonly #lose: (error: StoreError) => void;
  #compacted: number;
  /** The last revision given out. */
  #staged: number;
  #rollbacks = 0;
  #queue: Pending[] = [];
  #pumping: Promise<void> | undefined;
  #closed: StoreError | undefined;
  #disposed: Promise<void> | undefined;

  protected constructor(engine: Engine, options: LogStoreOptions) {
    const { promise, resolve } = Promise.withResolvers<StoreError>();
    this.uid = engine.opened.uid;
    if (engine.opened.origin !== undefined) this.origin = engine.opened.origin;
    this.lost = promise;
    this.#lose = resolve;
    this.#engine = engine;
    this.#beforeCommit = options.beforeCommit;
    this.#index = new KeyIndex(engine.opened.live);
    this.#hub = new WatchHub(engine.opened.revision, options.watchBufferBytes ?? DEFAULT_WATCH_BUFFER_BYTES);
    this.#compacted = engine.opened.compacted;
    this.#staged = engine.opened.revision;
    void engine.died.then((error) => this.#end([], error));
  }

  revision(): number {
    return this.#hub.revision;
  }

  published(): number {
    return this.#hub.published;
  }

  rollbacks(): number {
    return this.#rollbacks;
  }

  compactedRevision(): number {
    return this.#compacted;
  }

  async get(key: string, signal?: AbortSignal): Promise<Entry | undefined> {
    this.#assertOpen();
    return untilAborted(this.#engine.get(key, this.revision()), signal);
  }

  async range(query: RangeQuery, signal?: AbortSignal): Promise<RangeResult> {
    this.#assertOpen();
    const { prefix, after = '', limit = Number.MAX_SAFE_INTEGER, revision = this.revision() } = query;
    this.#assertReadable(revision);
    return untilAborted(this.#engine.range({ prefix, after, limit, revision }, signal), signal);
  }

  txn(request: TxnRequest): StagedTxn {
    this.#assertOpen();
    checkTxn(request);
    const found = this.#index.judge(request.compares);
    if (found !== undefined) return { done: this.#enqueue([], [], { ok: false, found }) };
    const revision = this.#staged + 1;
    const { rows, undo } = this.#index.stage(request, revision);
    if (rows.length === 0) return { done: this.#enqueue([], [], { ok: true, revision: this.#staged }) };
    this.#staged = revision;
    return { staged: revision, done: this.#enqueue(rows, undo, { ok: true, revision }) };
  }

  async *watch(fromRevision: number, signal: AbortSignal): AsyncGenerator<Batch> {
    let position = fromRevision;
    while (!signal.aborted) {
      this.#assertOpen();
      this.#assertReadable(position);
      // No await between this question and following: nothing can be published in between.
      if (this.#hub.reaches(position)) return yield* this.#hub.follow(position, signal);
      for (const batch of await this.#engine.history(position, this.revision())) {
        if (signal.aborted) return;
        yield batch;
        position = batch.revision;
      }
    }
  }

  async compact(revision: number, signal?: AbortSignal): Promise<void> {
    this.#assertOpen();
    if (revision > this.revision()) throw futureError(revision, this.revision());
    this.#compacted = Math.max(this.#compacted, revision);
    try {
      await untilAborted(this.#engine.compact(this.#compacted, signal), signal);
    } catch (error) {
      if (error instanceof StoreError && error.reason === 'UnknownOutcome') this.#end([], error);
      throw error;
    }
  }

  async size(signal?: AbortSignal): Promise<StoreSize> {
    this.#assertOpen();
    return untilAborted(this.#engine.size(), signal);
  }

  /** Commits what was accepted, then closes. Watches end with `Closed`. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#disposed ??= this.#dispose();
    return this.#disposed;
  }

  async #dispose(): Promise<void> {
    this.#closed ??= new StoreError('Closed', 'the store is closed');
    await this.#pumping;
    this.#hub.end(this.#closed);
    await this.#engine.close();
  }

  #assertOpen(): void {
    if (this.#closed !== undefined) throw new StoreError('Closed', this.#closed.message, { cause: this.#closed });
  }

  #assertReadable(revision: number): void {
    if (revision > this.revision()) throw futureError(revision, this.revision());
    if (revision < this.#compacted) throw compactedError(revision, this.#compacted);
  }

  #enqueue(rows: readonly LogRow[], undo: Undo, result: TxnResult): Promise<TxnResult> {
    if (rows.length === 0 && this.#staged === this.revision()) return Promise.resolve(result);
    const { promise, resolve, reject } = Promise.withResolvers<TxnResult>();
    const bytes = rows.reduce((sum, row) => sum + row.key.length + (row.value?.byteLength ?? 0), 0);
    this.#queue.push({ rows, bytes, undo, result, resolve, reject });
    this.#pumping ??= this.#pump();
    return promise;
  }

  async #pump(): Promise<void> {
    for (;;) {
      // Waiting a turn lets all writers that the last commit answered come back into one group.
      await nextTurn();
      const group = this.#takeGroup();
      if (group.length === 0) break;
      try {
        await this.#commit(group);
      } catch (error) {
        this.#failed(group, error);
        continue;
      }
      this.#hub.publish(group.filter((pending) => pending.rows.length > 0).map(toBatch));
      for (const pending of group) pending.resolve(pending.result);
    }
    this.#pumping = undefined;
  }

  #takeGroup(): Pending[] {
    let count = 0;
    for (let bytes = 0; count < this.#queue.length && count < GROUP.transactions; count++) {
      bytes += this.#queue[count]?.bytes ?? 0;
      if (bytes > GROUP.bytes && count > 0) break;
    }
    return this.#queue.splice(0, count);
  }

  async #commit(group: readonly Pending[]): Promise<void> {
    const rows = group.flatMap((pending) => pending.rows);
    const first = rows[0]?.revision;
    const last = rows.at(-1)?.revision;
    if (first === undefined || last === undefined) return;
    const fault = await this.#beforeCommit?.({ first, last });
    await this.#engine.commit(rows, fault);
  }

  #failed(group: readonly Pending[], error: unknown): void {
    const undone = error instanceof StoreError && (error.reason === 'NoSpace' || error.reason === 'Unavailable');
    if (undone) this.#rollBack(group, error);
    else this.#end(group, new StoreError('UnknownOutcome', `the store is lost: ${messageOf(error)}`, { cause: error }));
  }

  /** Everything in flight fails together, newest first, back to the last durable state. */
  #rollBack(group: readonly Pending[], error: StoreError): void {
    const victims = [...group, ...this.#queue.splice(0)];
    for (const pending of victims.toReversed()) this.#index.undo(pending.undo);
    this.#staged = this.revision();
    this.#rollbacks++;
    for (const pending of victims) pending.reject(error);
  }

  #end(group: readonly Pending[], error: StoreError): void {
    const closed = new StoreError('Closed', error.message, { cause: error });
    this.#closed ??= closed;
    this.#rollBack(group, error);
    this.#hub.end(closed);
    this.#lose(error);
  }
}

function toBatch(pending: Pending): Batch {
  return { revision: pending.rows[0]?.revision ?? 0, events: pending.rows.map(toEvent) };
}

/** The event a row of the log stands for. */
export function toEvent(row: LogRow): StoreEvent {
  if (row.value === undefined) return { type: 'delete', key: row.key };
  return { type: 'put', key: row.key, value: row.value, created: row.createRevision === row.revision };
}

export function compactedError(revision: number, compacted: number): StoreError {
  return new StoreError('Compacted', `revision ${revision} is compacted away; the oldest is ${compacted}`);
}

export function futureError(revision: number, current: number): StoreError {
  return new StoreError('Future', `revision ${revision} is not reached; the store is at ${current}`);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export function untilAborted<T>(answer: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return answer;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    answer.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
