/** A promise that a history shows broken. */
export interface Violation {
  readonly rule: Rule;
  readonly message: string;
  /** The key it is about, where it is about one. */
  readonly key?: string;
  /** The ids of the operations that show it, as few as were found to. */
  readonly operations: readonly number[];
}

export type Rule =
  /** A write that nobody asked for, that was refused, or that happened twice. */
  | 'phantom write'
  /** Two answers that cannot both be true of one version. */
  | 'two truths'
  /** No order of the operations on a key explains their answers: a write was lost, or a read was stale. */
  | 'not linearizable'
  /** A list that is not the state at its version. */
  | 'not a snapshot'
  /** A list older than what was acknowledged, or shown to the client, before. */
  | 'stale list'
  /** A watch that left something out. */
  | 'watch gap'
  /** A watch that told something twice, out of order, or as what it was not. */
  | 'watch repeat'
  /** A VM that was bound to two hosts, or whose guest was on two. */
  | 'bound twice'
  /** A VM that does not run when all has been quiet for long, or a guest without one. */
  | 'not as wished'
  /** It did not come back after all faults had ended. */
  | 'not available again'
  /** There were too many possible orders to try them all. */
  | 'undecided';
