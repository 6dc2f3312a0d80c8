import type { Clock } from '../../../resources/ambient/clock.ts';
import type { TxnRequest, TxnResult } from '../store.ts';
import type { Source } from './batches.ts';
import type { Fencing } from './fencing.ts';
import { Pace } from './pace.ts';
import { decodeTxns, encodeTxns, TXN_PATH, txnBytes } from './txn.ts';

/** Of compares, and of puts, of a transaction that goes with others: etcd takes 128 in all, and each transaction within another counts as one. */
const MOST_OPERATIONS = 64;
const MOST_BYTES = 64 << 10;
/** Of all that go together; etcd takes 1.5 MiB. */
const MOST_GROUP_BYTES = 512 << 10;

interface Waiting {
  readonly request: TxnRequest;
  readonly deadlineMs: number;
  readonly result: PromiseWithResolvers<TxnResult>;
}

/**
 * Sends transactions, those that come while others are under way as one: one call, one entry in etcd's log, one message on the watch. They must have no key
 * in common. What removes a key, or is large, goes alone. A call that fails fails for all in it, as each might have been the reason. Where only members write,
 * each call says that this process is one; when it was none by then nothing was done, and all in it goes again once it is.
 */
export class TxnGroups {
  readonly #source: Source;
  readonly #fencing: Fencing | undefined;
  readonly #pace: Pace;
  #waiting: Waiting[] = [];

  constructor(source: Source, fencing: Fencing | undefined, clock: Clock) {
    this.#source = source;
    this.#fencing = fencing;
    this.#pace = new Pace(clock, () => this.#sendSome());
  }

  /** Rejects with EtcdCallError. */
  async send(request: TxnRequest, deadlineMs: number): Promise<TxnResult> {
    const { room } = this.#source.revisions;
    if (room === 1 || !this.#isCompanionable(request)) {
      const [result] = await this.#call([request], deadlineMs);
      if (result === undefined) throw new RangeError('a transaction without a result');
      return result;
    }
    const result = Promise.withResolvers<TxnResult>();
    this.#waiting.push({ request, deadlineMs, result });
    this.#pace.want();
    return result.promise;
  }

  #isCompanionable(request: TxnRequest): boolean {
    const { compares, puts, deletes } = request;
    const most = Math.max(compares.length, puts.length);
    const fits = most <= MOST_OPERATIONS && txnBytes(request, this.#source.layout) <= MOST_BYTES;
    return deletes.length === 0 && puts.length > 0 && fits;
  }

  async #sendSome(): Promise<() => void> {
    const group = this.#take();
    if (this.#waiting.length > 0) this.#pace.want();
    const deadlineMs = Math.min(...group.map((each) => each.deadlineMs));
    try {
      const results = await this.#call(
        group.map(({ request }) => request),
        deadlineMs,
      );
      return () => {
        for (const [i, { result }] of group.entries()) result.resolve(results[i] as TxnResult);
      };
    } catch (error) {
      return () => {
        for (const { result } of group) result.reject(error);
      };
    }
  }

  /** As many of those that wait as may go together, in the order they came. */
  #take(): readonly Waiting[] {
    const { layout, revisions } = this.#source;
    let bytes = 0;
    let count = 0;
    for (const { request } of this.#waiting) {
      bytes += txnBytes(request, layout);
      if (count === revisions.room || (count > 0 && bytes > MOST_GROUP_BYTES)) break;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }

  async #call(requests: readonly TxnRequest[], deadlineMs: number): Promise<readonly TxnResult[]> {
    const { connection, layout, revisions } = this.#source;
    for (;;) {
      const fence = this.#fencing?.fence ?? (await this.#fencing?.enter(deadlineMs));
      const frame = encodeTxns(requests, layout, revisions, fence);
      const answer = decodeTxns(await connection.send(TXN_PATH, frame, deadlineMs), requests, revisions, fence);
      if (answer !== undefined) {
        // Whoever is refused by a compare knows of what it was refused for.
        if (answer.results.some(({ ok }) => !ok)) this.#fencing?.told(answer.revision);
        return answer.results;
      }
      if (fence !== undefined) this.#fencing?.refused(fence);
    }
  }
}
