import type { CommitFault, EngineRange } from '../engine.ts';
import type { StoreBirth, StoreErrorReason, StoreOrigin } from '../store.ts';

/** What the store's thread asks the worker. Each but `cancel` is answered under its id. */
export type Request =
  | ({ readonly kind: 'commit'; readonly id: number; readonly fault: CommitFault | undefined } & PackedRows)
  | { readonly kind: 'get'; readonly id: number; readonly key: string; readonly revision: number }
  | ({ readonly kind: 'range'; readonly id: number } & EngineRange)
  | { readonly kind: 'history'; readonly id: number; readonly after: number; readonly upTo: number }
  | { readonly kind: 'compact'; readonly id: number; readonly revision: number }
  | { readonly kind: 'size'; readonly id: number }
  | { readonly kind: 'close'; readonly id: number }
  /** Stops the range or compaction of that id; no answer. */
  | { readonly kind: 'cancel'; readonly id: number };

export type Reply =
  | { readonly kind: 'opened'; readonly opened: OpenedReply }
  | { readonly kind: 'refused'; readonly error: ErrorReply }
  | { readonly kind: 'done'; readonly id: number; readonly rows: PackedRows; readonly remaining: number }
  /** A part of a range; more follows. */
  | { readonly kind: 'part'; readonly id: number; readonly rows: PackedRows }
  | { readonly kind: 'sized'; readonly id: number; readonly bytes: number; readonly usedBytes: number }
  | { readonly kind: 'failed'; readonly id: number; readonly error: ErrorReply };

export interface ErrorReply {
  readonly reason: StoreErrorReason;
  readonly message: string;
}

export interface OpenedReply {
  readonly uid: string;
  readonly origin: StoreOrigin | undefined;
  readonly revision: number;
  readonly compacted: number;
  readonly keys: readonly string[];
  readonly modRevisions: readonly number[];
  readonly createRevisions: readonly number[];
}

export interface WorkerOptions {
  readonly path: string;
  /** How a new store begins. */
  readonly birth: StoreBirth;
}

/** Rows as they cross threads: columns, and all values in one buffer that is moved, not copied. */
export interface PackedRows {
  readonly revisions: readonly number[];
  readonly keys: readonly string[];
  readonly createRevisions: readonly number[];
  /** -1 for no value. */
  readonly lengths: readonly number[];
  readonly values: ArrayBuffer;
}
