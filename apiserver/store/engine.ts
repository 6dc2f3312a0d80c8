import type { Batch, Entry, RangeResult, StoreError, StoreOrigin, StoreSize } from './store.ts';

/**
 * What a durable log must do under `LogStore`, which alone decides revisions, compares, groups and watches. An engine is naive:
 * one commit at a time, every revision given, no promises about order beyond its own calls.
 *
 * Every rejection is a StoreError. A failed `commit` with `NoSpace` or `Unavailable` changed nothing and the engine goes on; any other
 * reason means the engine is finished.
 */
export interface Engine {
  readonly opened: Opened;
  commit(rows: readonly LogRow[], fault: CommitFault | undefined): Promise<void>;
  get(key: string, revision: number): Promise<Entry | undefined>;
  range(query: EngineRange, signal: AbortSignal | undefined): Promise<RangeResult>;
  /** Whole batches with `after` < revision ≤ `upTo`, at least one if there are any, about a megabyte at most. */
  history(after: number, upTo: number): Promise<readonly Batch[]>;
  /** Refuses older reads at once, lets those already asked finish, then deletes in slices. */
  compact(revision: number, signal: AbortSignal | undefined): Promise<void>;
  size(): Promise<StoreSize>;
  /** Ends the engine; reads not yet answered are rejected with `Closed`. */
  close(): Promise<void>;
  /** Resolves when the engine ended without being asked to. */
  readonly died: Promise<StoreError>;
}

/** What the log held when it was opened. */
export interface Opened {
  readonly uid: string;
  readonly origin?: StoreOrigin | undefined;
  readonly revision: number;
  readonly compacted: number;
  readonly live: Iterable<readonly [key: string, version: Version]>;
}

/** The revisions of a live key. */
export interface Version {
  readonly modRevision: number;
  readonly createRevision: number;
}

/** One key's change in one transaction. */
export interface LogRow {
  readonly revision: number;
  readonly key: string;
  /** 0 for a deletion. */
  readonly createRevision: number;
  /** Absent for a deletion. */
  readonly value: Uint8Array | undefined;
}

export interface EngineRange {
  readonly prefix: string;
  readonly after: string;
  readonly limit: number;
  readonly revision: number;
}

/**
 * How a test makes the next commit fail: no space; a file system that takes no writes just now; an I/O error that left the commit out of, or in, the log; the engine's death.
 */
export type CommitFault = 'NoSpace' | 'ReadOnly' | 'IoErrorBeforeCommit' | 'IoErrorAfterCommit' | 'Death';

/** The revisions one commit makes durable. */
export interface CommitGroup {
  readonly first: number;
  readonly last: number;
}

/** Called before each commit. A promise holds the commit back (a slow disk, a gate); its value makes it fail. */
export type BeforeCommit = (group: CommitGroup) => CommitFault | undefined | Promise<CommitFault | undefined>;
