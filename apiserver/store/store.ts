/**
 * The store contract: an ordered log of keys with one revision for everything.
 *
 * Guarantees, for every implementation (test/apiserver/store/contract.ts proves them):
 *
 * 1. **One counter.** Every successful transaction that writes gets one new revision, greater than all before it. All its
 *    events carry that revision. Revisions never go back, not across restarts either.
 * 2. **Compare and set.** A transaction's compares are judged against the state after every earlier transaction, those still
 *    being committed included. Either all its writes happen or none.
 * 3. **Acknowledged means durable.** A resolved `done` survives SIGKILL and power loss. A rejected one with
 *    `StoreError.reason === 'UnknownOutcome'` may or may not have happened; with `'NoSpace'` it did not happen.
 * 4. **Suffix rollback.** When a commit fails, that transaction and every later one in flight fail together; the state is that
 *    before the first of them.
 * 5. **Watch.** From revision R a watch yields every batch with revision > R, in order, none missed, none repeated, each
 *    transaction's events in one batch. Nothing is published before it is durable. A start below the compacted revision is
 *    `Compacted`. A reader that falls more than `watchBufferBytes` behind is ended with `SlowReader`, never skipped.
 * 6. **Range at a revision** sees exactly the state at that revision; `Compacted` if that is gone, `Future` if not reached.
 *
 * Keys are printable ASCII paths; ranges are in byte order. Values are opaque bytes. Revisions are safe integers (2^53 writes at
 * a million a second last 285 years). Implementations translate their engine's errors into StoreError at their own edge.
 */
export interface Store extends AsyncDisposable {
  /** Identity of the data, made at first start and kept in it. */
  readonly uid: string;
  /** Of a store that a backup was restored into: what the backup is of. */
  readonly origin?: StoreOrigin;
  /** The last durable revision; 0 for a store never written. */
  revision(): number;
  /** The oldest revision from which ranges and watches can still be answered. */
  compactedRevision(): number;
  /** One key at the last durable revision. */
  get(key: string, signal?: AbortSignal): Promise<Entry | undefined>;
  range(query: RangeQuery, signal?: AbortSignal): Promise<RangeResult>;
  /**
   * Submits a transaction. Throws `StoreError` at once when it cannot be accepted (closed, lost, too large).
   * `staged` is set when the implementation judged the compares at once and assigned the revision already; later transactions
   * are judged as if it had happened. Without it only `done` tells. The values belong to the store from here on: do not change
   * them. A key that is not printable ASCII, or is written twice, is the caller's mistake: TypeError.
   */
  txn(request: TxnRequest): StagedTxn;
  /**
   * How often writes in flight were undone (guarantee 4), counted in the same step as the state goes back: who laid staged writes over the
   * durable state learns here at once that they are void. Must be there where `staged` is ever set.
   */
  rollbacks?(): number;
  /**
   * The last durable revision at a moment after the call, whoever wrote it; `revision()` has reached it when this resolves. Must be there where
   * other processes write too: there `revision()` alone may be behind what they acknowledged. The asker's signal is asked for only when the answer takes long.
   */
  latest?(asker?: { readonly signal: AbortSignal }): Promise<number>;
  /** The same at this very moment, while it is known without asking anybody; undefined while it is not. It may be there where `latest` is. */
  present?(): number | undefined;
  /** Batches after `fromRevision`, until the signal aborts (ends quietly) or a StoreError ends it. */
  watch(fromRevision: number, signal: AbortSignal): AsyncIterable<Batch>;
  /** Forgets history before `revision`; the state at `revision` stays readable. Returns when it is forgotten. */
  compact(revision: number, signal?: AbortSignal): Promise<void>;
  /**
   * Bytes of keys and values of all that was published since the store was opened, whoever wrote it, and a little for each change: how much
   * history has grown. Only differences mean anything.
   */
  published?(): number;
  /** How large the data is, at a moment after the call. */
  size?(signal?: AbortSignal): Promise<StoreSize>;
  /** Why it cannot be reached, and for how long; undefined while it can. Where it is elsewhere only. It is found out without anybody asking. */
  outage?(): string | undefined;
  /** Resolves, with the reason, when the store can no longer be trusted with writes (worker dead, I/O error). */
  readonly lost: Promise<StoreError>;
}

/** In bytes. */
export interface StoreSize {
  /** What the data takes up on its disk, room that it has kept for later writes included. */
  readonly bytes: number;
  /** What of that is in use, by the present state and by history. */
  readonly usedBytes: number;
  /** What `bytes` may grow to before writes are refused, where somebody has set a limit. */
  readonly limitBytes?: number;
  /** What is left on the disk, and all that the disk has, where that can be told. */
  readonly freeBytes?: number;
  readonly diskBytes?: number;
  /** Whether writes are refused for want of space, where the data says so itself. */
  readonly refusing?: boolean;
}

/** How a store begins that takes over from another. */
export interface StoreBirth {
  readonly uid: string;
  /** Its revisions begin above this one, and history up to it is compacted away. */
  readonly revision: number;
  readonly origin?: StoreOrigin;
}

/** The store that a backup is of. */
export interface StoreOrigin {
  readonly uid: string;
  readonly revision: number;
  /** When the backup was taken, in RFC 3339. */
  readonly takenAt: string;
}

/** A store being filled. Nobody else can open it, neither now nor after this process was killed, until it is finished. Disposing it closes it, finished or not. */
export interface UnfinishedStore extends AsyncDisposable {
  readonly store: Store;
  /** Closes the store: from here on it is one like any other, with all history before compacted away. */
  finish(): Promise<void>;
}

export interface Entry {
  readonly key: string;
  readonly value: Uint8Array;
  readonly modRevision: number;
  /** In etcd it may be that of another transaction done together with the one that made it. */
  readonly createRevision: number;
}

export interface RangeQuery {
  /** All keys that start with this. */
  readonly prefix: string;
  /** Only keys after this one. */
  readonly after?: string;
  /** Default: no limit. 0 only counts: everything is `remaining`. */
  readonly limit?: number;
  /** Default: the last durable revision, or one made while the range is asked for. */
  readonly revision?: number;
}

export interface RangeResult {
  readonly entries: readonly Entry[];
  /** The revision the answer is true at. */
  readonly revision: number;
  /** Keys beyond the limit. */
  readonly remaining: number;
}

export interface TxnRequest {
  /** `revision` is one that the store told of the key; 0 means that it must be absent. */
  readonly compares: readonly { readonly key: string; readonly revision: number }[];
  readonly puts: readonly { readonly key: string; readonly value: Uint8Array }[];
  readonly deletes: readonly string[];
}

export interface StagedTxn {
  readonly staged?: number;
  readonly done: Promise<TxnResult>;
}

export type TxnResult =
  | { readonly ok: true; readonly revision: number }
  /** A compare failed: nothing was written. `found` holds the current modRevision (0 = absent) of every compared key. */
  | { readonly ok: false; readonly found: ReadonlyMap<string, number> };

/** Everything one transaction did. */
export interface Batch {
  readonly revision: number;
  readonly events: readonly StoreEvent[];
}

export type StoreEvent =
  | { readonly type: 'put'; readonly key: string; readonly value: Uint8Array; readonly created: boolean }
  | { readonly type: 'delete'; readonly key: string };

export type StoreErrorReason =
  /** The start or range revision is compacted away. */
  | 'Compacted'
  /** The asked revision is beyond the store's. */
  | 'Future'
  /** A watcher fell too far behind. */
  | 'SlowReader'
  /** No space left: the write did not happen; the store goes on. */
  | 'NoSpace'
  /** The write may or may not have happened. */
  | 'UnknownOutcome'
  /** The value or transaction is over the limit. */
  | 'TooLarge'
  /** The data cannot be read: damaged, of a newer schema, or not ours. Nothing was changed. */
  | 'Unreadable'
  /** Another process has it open. */
  | 'Busy'
  /** It cannot be reached, or refuses, just now: nothing was done, the store goes on. */
  | 'Unavailable'
  /** Closed by its owner, or lost. */
  | 'Closed';

export class StoreError extends Error {
  readonly reason: StoreErrorReason;
  constructor(reason: StoreErrorReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'StoreError';
    this.reason = reason;
  }
}

/**
 * Limits every implementation keeps (etcd's defaults are the smaller ones). `valueBytes` is for all values of a transaction
 * together, because etcd limits the request; `txnOperations` for its compares, and for its puts and deletes together: etcd
 * takes 128, of which one is the transaction that all others are sent within.
 */
export const STORE_LIMITS = { valueBytes: 1_500_000, txnOperations: 127 } as const;
