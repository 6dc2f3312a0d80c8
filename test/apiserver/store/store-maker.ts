import assert from 'node:assert/strict';
import type { CommitFault, CommitGroup } from '../../../apiserver/store/engine.ts';
import type { LogStoreOptions } from '../../../apiserver/store/log-store.ts';
import {
  type Batch,
  type Entry,
  type Store,
  StoreError,
  type StoreErrorReason,
  type TxnRequest,
} from '../../../apiserver/store/store.ts';

/** An implementation the contract suite is run against. */
export interface StoreMaker {
  readonly name: string;
  /** How many random histories to try. */
  readonly histories: number;
  /** Whether its data outlives the store, so that it can be opened again. */
  readonly reopens: boolean;
  /** Whether it stages transactions: then they are done in the order they were submitted, and a test can hold their commits back. */
  readonly stages: boolean;
  /** Opens an empty store. Disposing it closes the store and removes what it left. */
  open(options?: LogStoreOptions): Promise<OpenStore>;
}

interface OpenStore extends AsyncDisposable {
  readonly store: Store;
  /** Closes the store and opens it again over the same data. There when the maker says so. */
  readonly reopen?: () => Promise<Store>;
}

export function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

export function textOf(value: Uint8Array): string {
  return new TextDecoder().decode(value);
}

/** A transaction in few words: `{ if: { a: 3 }, put: { a: 'x' }, delete: ['b'] }`. */
export function txn(words: {
  readonly if?: Readonly<Record<string, number>>;
  readonly put?: Readonly<Record<string, string>>;
  readonly delete?: readonly string[];
}): TxnRequest {
  return {
    compares: Object.entries(words.if ?? {}).map(([key, revision]) => ({ key, revision })),
    puts: Object.entries(words.put ?? {}).map(([key, value]) => ({ key, value: bytes(value) })),
    deletes: words.delete ?? [],
  };
}

/** Writes and returns the revision. */
export async function write(store: Store, words: Parameters<typeof txn>[0]): Promise<number> {
  const result = await store.txn(txn(words)).done;
  assert.ok(result.ok, 'the write was refused');
  return result.revision;
}

/** `key=value@modRevision/createRevision` */
export function entryLine(entry: Entry): string {
  return `${entry.key}=${textOf(entry.value)}@${entry.modRevision}/${entry.createRevision}`;
}

/** `3: +a=x b=y -c`: revision, then created, updated and deleted keys. */
export function batchLine(batch: Batch): string {
  const events = batch.events.map((event) =>
    event.type === 'delete' ? `-${event.key}` : `${event.created ? '+' : ''}${event.key}=${textOf(event.value)}`,
  );
  return `${batch.revision}: ${events.join(' ')}`;
}

/** The next `count` batches after `from`, as lines. */
export async function watched(store: Store, from: number, count: number): Promise<string[]> {
  const lines: string[] = [];
  if (count === 0) return lines;
  for await (const batch of store.watch(from, AbortSignal.timeout(10_000))) {
    lines.push(batchLine(batch));
    if (lines.length === count) return lines;
  }
  throw new Error(`the watch gave ${lines.length} of ${count} batches in ten seconds`);
}

/** Expects a StoreError of that reason. */
export async function rejectsWith(reason: StoreErrorReason, promise: Promise<unknown>): Promise<StoreError> {
  try {
    await promise;
  } catch (error) {
    assert.ok(error instanceof StoreError, `expected a StoreError, got ${String(error)}`);
    assert.equal(error.reason, reason, error.message);
    return error;
  }
  return assert.fail(`expected a StoreError ${reason}`);
}

/** What a watch from `from` ends with. */
export async function watchEnd(store: Store, from: number, reason: StoreErrorReason): Promise<void> {
  await rejectsWith(reason, watched(store, from, Number.POSITIVE_INFINITY));
}

/** The store opened again, in a case that only makers that can do so have. */
export function reopened({ reopen }: OpenStore): Promise<Store> {
  return reopen === undefined ? assert.fail('the maker says it reopens its stores, and cannot') : reopen();
}

/** Holds commits until told, and makes chosen ones fail. */
export class CommitGate {
  readonly groups: CommitGroup[] = [];
  readonly #faults: CommitFault[] = [];
  #closed: PromiseWithResolvers<void> | undefined;
  #reached = Promise.withResolvers<void>();

  readonly beforeCommit = async (group: CommitGroup): Promise<CommitFault | undefined> => {
    this.groups.push(group);
    this.#reached.resolve();
    await this.#closed?.promise;
    return this.#faults.shift();
  };

  /** From now on commits wait. */
  close(): void {
    this.#closed = Promise.withResolvers();
    this.#reached = Promise.withResolvers();
  }

  /** Resolves when a commit stands at the closed gate. */
  get reached(): Promise<void> {
    return this.#reached.promise;
  }

  open(): void {
    this.#closed?.resolve();
    this.#closed = undefined;
  }

  /** The next commit through the gate fails so. */
  failNext(fault: CommitFault): void {
    this.#faults.push(fault);
  }
}
