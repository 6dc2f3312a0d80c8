import type { Clock } from '../../../resources/ambient/clock.ts';
import type { Ids } from '../../../resources/ambient/ids.ts';
import { type Logger, silentLogger } from '../../../resources/ambient/log.ts';
import { slowWaits } from '../../../resources/ambient/slow-waits.ts';
import { compactedError, futureError, untilAborted } from '../log-store.ts';
import {
  type Batch,
  type Entry,
  type RangeQuery,
  type RangeResult,
  type StagedTxn,
  type Store,
  StoreError,
  type StoreOrigin,
  type StoreSize,
  type TxnRequest,
  type TxnResult,
} from '../store.ts';
import { checkTxn } from '../txn-check.ts';
import type { Source } from './batches.ts';
import { EtcdCallError } from './call-error.ts';
import { compactionSteps } from './compaction-steps.ts';
import type { ConnectionOptions } from './connection.ts';
import { Fencing } from './fencing.ts';
import { readHistory } from './history.ts';
import type { Identity } from './identity.ts';
import { KeyOrder } from './key-order.ts';
import { LatestRevision } from './latest-revision.ts';
import { mayBeDone } from './may-be-done.ts';
import { COMPACT_PATH, decodeStatus, encodeCompaction, encodeNothing, STATUS_PATH } from './member-messages.ts';
import type { Membership } from './membership.ts';
import { Reach } from './reach.ts';
import { readKey } from './read-key.ts';
import { readRange } from './read-range.ts';
import { RootWatch } from './root-watch.ts';
import { type RunningRange, RunningRanges } from './running-ranges.ts';
import { SoleKeeper } from './sole-keeper.ts';
import type { HolderMark } from './sole-record.ts';
import { readError, writeError } from './store-error.ts';
import { TxnGroups } from './txn-groups.ts';

export interface EtcdStoreOptions extends ConnectionOptions {
  /** What all keys begin with, without a slash at its end. Default `coppice`. */
  readonly root?: string;
  /** How many bytes of batches are kept for watchers; who falls further behind is ended. Default 8 MiB. */
  readonly watchBufferBytes?: number;
  /** What etcd's database may grow to, as its own `--quota-backend-bytes` has it, which it tells nobody. Default 2 GiB, as etcd's. */
  readonly quotaBytes?: number;
  /** How many transactions may go to etcd as one, in a store that is made now: 64, or 1, which older versions can share. */
  readonly room?: 1 | 64;
  readonly ids: Ids;
  readonly log?: Logger;
  /** What others on this machine know this process by; asked for once it is needed. */
  readonly holderMark?: () => Promise<HolderMark | undefined>;
}

/** Where only members write, one that has none is only read. */
export type OpenedStore = Source & Identity & { readonly membership?: Membership | undefined };

const DEFAULT_WATCH_BUFFER_BYTES = 8 * 1024 * 1024;
/** As it is in what a member says is wrong. */
const NO_SPACE_ALARM = 'alarm:NOSPACE';
const DEFAULT_QUOTA_BYTES = 2 * 1024 ** 3;

/**
 * The store in etcd (3.4.21, 3.5.5 or newer: before, a single member acknowledged writes that were not on its disk yet). Several processes may
 * have one store open. It wants an etcd of its own: compaction is for all of etcd, and revisions of other keys make it slower.
 *
 * How the contract's guarantees come about here:
 *
 * 1. *One counter*: etcd's, counted from the identity's revision (`Revisions`). Transactions that wait at the same time go to etcd as one (`TxnGroups`)
 *    and share a revision there; here each has one of its own, so revisions have gaps.
 * 2. *Compare and set*: etcd judges. Nothing is `staged`: another process may always be first, so nobody but etcd knows the revision of a write
 *    before it is done. Transactions of this process that share a key keep their order (`KeyOrder`), others have none.
 * 3. *Acknowledged means durable*: etcd answers after its quorum has synced. A write whose answer is lost is `UnknownOutcome`, and is never sent
 *    twice; one that provably reached no server, for ten seconds, is `Unavailable`. The store goes on after either.
 * 4. *Suffix rollback* has no subject, as nothing is staged.
 * 5. *Watch*: one watch feeds all readers (`RootWatch`); older history is read over a stream of its own and joined to it. A write is
 *    acknowledged once that watch has published it, so `revision()` is never behind what this process was told, though it may be behind others:
 *    `latest` is not. A write that etcd has done and that does not come down the watch within ten seconds ends as `UnknownOutcome`.
 * 6. *Range at a revision*: by etcd's own history. A range without one, and `get`, see every write acknowledged to anyone before.
 *
 * Compaction by other processes, or by etcd itself, is learnt of when something asks for what is gone: `compactedRevision()` is the least it
 * can be. A range under way here holds up a compaction of this process, not one of others: then it ends with `Compacted`.
 *
 * `lost` is for data that is no longer this store's: its identity is gone or changed, or revisions went back (a backup was restored). An outage
 * of etcd is none of that: calls end with `Unavailable`, watches wait and go on.
 */
export class EtcdStore implements Store {
  readonly uid: string;
  readonly origin?: StoreOrigin;
  readonly lost: Promise<StoreError>;
  readonly #source: Source;
  readonly #clock: Clock;
  readonly #root: RootWatch;
  readonly #reach: Reach;
  readonly #quotaBytes: number;
  readonly #order = new KeyOrder();
  readonly #groups: TxnGroups;
  readonly #ending = new AbortController();
  readonly #running: Promise<void>;
  /** Transactions under way, and what resolves when there are none. */
  #pending = 0;
  #idle: PromiseWithResolvers<void> | undefined;
  readonly #ranges = new RunningRanges();
  readonly #latest: LatestRevision;
  /** Where only members write; without one it may only be read there. */
  readonly #keeper: SoleKeeper | undefined;
  readonly #fencing: Fencing | undefined;
  readonly #isReadOnly: boolean;
  readonly #floor: number;
  #compacted: number;
  #closed: StoreError | undefined;
  #disposed: Promise<void> | undefined;

  constructor(opened: OpenedStore, compacted: number, options: EtcdStoreOptions) {
    const { promise, resolve } = Promise.withResolvers<StoreError>();
    const { clock, log = silentLogger, watchBufferBytes = DEFAULT_WATCH_BUFFER_BYTES } = options;
    this.uid = opened.uid;
    if (opened.origin !== undefined) this.origin = opened.origin;
    this.#floor = opened.floor;
    this.lost = promise;
    this.#source = opened;
    this.#clock = clock;
    this.#compacted = compacted;
    this.#quotaBytes = options.quotaBytes ?? DEFAULT_QUOTA_BYTES;
    const { membership, revision } = opened;
    const heard = () => this.#reach.heard();
    const gate =
      membership && new SoleKeeper({ ...opened, membership, clock, log, holderMark: options.holderMark, heard });
    this.#keeper = gate;
    this.#isReadOnly = opened.membersOnly && membership === undefined;
    this.#fencing = membership && gate && new Fencing(membership, gate, clock);
    this.#groups = new TxnGroups(opened, this.#fencing, clock);
    this.#root = new RootWatch({ ...opened, clock, log, watchBufferBytes, gate }, revision);
    this.#latest = new LatestRevision({ ...opened, clock, root: this.#root, heard, right: gate?.right });
    this.#reach = new Reach({ probe: (signal) => this.#latest.probe(signal), clock, log });
    const { signal } = this.#ending;
    const looking = Promise.all([this.#reach.run(signal), gate?.run(signal)]);
    this.#running = this.#root.run(signal).then(async (loss) => {
      if (loss === undefined) return void (await looking);
      const closed = new StoreError('Closed', loss.message, { cause: loss });
      this.#closed ??= closed;
      this.#root.end(closed);
      resolve(loss);
      gate?.end(closed);
    });
  }

  revision(): number {
    return this.#root.revision;
  }

  compactedRevision(): number {
    return this.#compacted;
  }

  published(): number {
    return this.#root.published;
  }

  present(): number | undefined {
    return this.#closed === undefined ? this.#latest.known() : undefined;
  }

  async latest(asker?: { readonly signal: AbortSignal }): Promise<number> {
    this.#assertOpen();
    const present = this.#latest.known();
    if (present !== undefined) return present;
    const away = this.#reach.whenAway();
    if (away !== undefined) await away;
    const answer = this.#latest.ask();
    return asker === undefined ? answer : slowWaits(this.#clock).unlessGone(answer, asker);
  }

  async get(key: string, signal?: AbortSignal): Promise<Entry | undefined> {
    this.#assertOpen();
    const away = this.#reach.whenAway();
    if (away !== undefined) await away;
    const entry = await this.#reading(readKey(this.#source, key, this.#fencing, signal));
    this.#reach.heard();
    return entry;
  }

  async range(query: RangeQuery, signal?: AbortSignal): Promise<RangeResult> {
    this.#assertOpen();
    const away = this.#reach.whenAway();
    if (away !== undefined) await away;
    if (query.revision !== undefined) this.#assertKept(query.revision);
    const running: RunningRange = { revision: query.revision ?? this.revision() };
    const at = (revision: number) => {
      running.revision = revision;
    };
    try {
      return await this.#ranges.during(running, async () => {
        const result = await this.#reading(readRange(this.#source, query, at, signal));
        await this.#root.reached(result.revision, signal);
        this.#reach.heard();
        return result;
      });
    } catch (error) {
      if (error instanceof StoreError && error.reason === 'Compacted') this.#raise(running.revision + 1);
      throw error;
    }
  }

  txn(request: TxnRequest): StagedTxn {
    this.#assertOpen();
    if (this.#isReadOnly) throw new TypeError('a store that was opened to be read only takes no writes');
    checkTxn(request);
    this.#pending += 1;
    const done = this.#submit(request);
    const settled = () => {
      this.#pending -= 1;
      if (this.#pending === 0) this.#idle?.resolve();
    };
    done.then(settled, settled);
    return { done };
  }

  async *watch(fromRevision: number, signal: AbortSignal): AsyncGenerator<Batch> {
    let position = fromRevision;
    while (!signal.aborted) {
      this.#assertOpen();
      if (position > this.revision()) await this.#assertReached(position, signal);
      if (signal.aborted) return;
      this.#assertKept(position);
      // No await between this question and following: nothing can be published in between.
      if (this.#root.reaches(position)) return yield* this.#root.follow(position, signal);
      for await (const batch of this.#history(position, signal)) {
        yield batch;
        position = batch.revision;
      }
    }
  }

  async compact(revision: number, signal?: AbortSignal): Promise<void> {
    this.#assertOpen();
    if (revision > this.revision()) await this.#assertReached(revision, signal);
    const from = this.#compacted;
    this.#raise(revision);
    await untilAborted(this.#ranges.before(revision), signal);
    const theirs = (ours: number) => this.#source.revisions.whole(Math.max(ours, this.#floor));
    for (const step of compactionSteps(theirs(from), theirs(revision))) {
      const request = encodeCompaction(step);
      const compacting = this.#source.connection.ask(COMPACT_PATH, request, signal);
      await this.#reading(compacting.catch(unlessCompacted));
    }
  }

  /** Of the member that is asked. etcd never makes its file smaller by itself: what is not in use is room for later writes. */
  async size(signal?: AbortSignal): Promise<StoreSize> {
    this.#assertOpen();
    const answer = await this.#reading(this.#source.connection.ask(STATUS_PATH, encodeNothing(), signal));
    const { bytes, usedBytes, errors } = decodeStatus(answer);
    return {
      bytes,
      usedBytes,
      limitBytes: this.#quotaBytes,
      refusing: errors.some((error) => error.includes(NO_SPACE_ALARM)),
    };
  }

  outage(): string | undefined {
    return this.#reach.outage;
  }

  /** Lets what was accepted end, then closes. Watches end with `Closed`. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#disposed ??= this.#dispose();
    return this.#disposed;
  }

  async #dispose(): Promise<void> {
    const closed = new StoreError('Closed', 'the store is closed');
    this.#closed ??= closed;
    if (this.#pending > 0) {
      this.#idle = Promise.withResolvers();
      await this.#idle.promise;
    }
    this.#root.end(this.#closed);
    this.#ending.abort(this.#closed);
    await this.#running;
    this.#keeper?.end(this.#closed);
    await this.#keeper?.close();
    this.#source.connection.close(this.#closed);
  }

  #assertOpen(): void {
    if (this.#closed !== undefined) throw new StoreError('Closed', this.#closed.message, { cause: this.#closed });
  }

  #assertKept(revision: number): void {
    if (revision < this.#compacted) throw compactedError(revision, this.#compacted);
  }

  /** Another process may have brought the store there already. */
  async #assertReached(revision: number, signal: AbortSignal | undefined): Promise<void> {
    const latest = await this.latest(signal && { signal }).catch((error: unknown) => {
      if (signal?.aborted) return revision;
      throw error;
    });
    signal?.throwIfAborted();
    if (revision > latest) throw futureError(revision, latest);
  }

  #raise(compacted: number): void {
    this.#compacted = Math.max(this.#compacted, compacted);
  }

  async #submit(request: TxnRequest): Promise<TxnResult> {
    const deadlineMs = this.#source.connection.deadline();
    const place = this.#order.enter(request);
    const away = this.#reach.whenAway();
    away?.catch(() => {});
    let result: TxnResult;
    try {
      const { turn } = place;
      if (turn !== undefined) await turn;
      if (away !== undefined) await away;
      result = await this.#groups.send(request, deadlineMs);
    } catch (error) {
      const isDone = await mayBeDone(error, request, (key) => this.get(key));
      throw isDone ? lastWrite(error) : writeError(error);
    } finally {
      place.leave();
    }
    if (result.ok) await this.#published(result.revision);
    this.#reach.heard();
    return result;
  }

  async #published(revision: number): Promise<void> {
    try {
      await this.#root.reached(revision);
    } catch (error) {
      const message = `etcd has written revision ${revision}, and it was not seen on the watch`;
      throw new StoreError('UnknownOutcome', message, { cause: error });
    }
  }

  /** What is older than what is kept for watchers. */
  async *#history(position: number, signal: AbortSignal): AsyncGenerator<Batch> {
    const deps = { source: this.#source, root: this.#root, clock: this.#clock };
    const ending = AbortSignal.any([signal, this.#ending.signal]);
    try {
      yield* readHistory(deps, position, this.revision(), ending);
    } catch (error) {
      if (error instanceof StoreError && error.reason === 'Compacted') this.#raise(position + 1);
      throw error;
    }
  }

  async #reading<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      throw readError(error);
    }
  }
}

function lastWrite(cause: unknown): StoreError {
  return new StoreError('UnknownOutcome', 'etcd has no room left, and may have done this write as its last', { cause });
}

/** Somebody compacted further already. */
function unlessCompacted(error: unknown): undefined {
  if (!(error instanceof EtcdCallError) || error.failure !== 'Compacted') throw error;
}
