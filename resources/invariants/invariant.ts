import type { KubeObject } from '../meta/object.ts';
import type { FleetState } from './fleet-state.ts';

/** What one object was before a revision and is from it on; undefined: not there. */
export interface Change<T extends KubeObject = KubeObject> {
  readonly resource: string;
  readonly key: string;
  readonly before: T | undefined;
  readonly after: T | undefined;
}

/** One revision: what it changed, and the whole state from it on. */
export interface Step {
  readonly revision: number;
  /** Wall time of whoever watches, when the revision was known to be the newest. */
  readonly nowMs: number;
  /** It is where the check begins: every object counts as made by it, though nobody knows what was there before. */
  readonly first: boolean;
  readonly changes: readonly Change[];
  readonly state: FleetState;
}

/** Something that is not as it must be. */
export interface Finding {
  /** Tells findings about one subject apart; one that is found again under the same key is the same one. */
  readonly key: string;
  /** One sentence with the objects and the numbers. */
  readonly message: string;
  /** `host/mac-1`, `vm/acme/web`. */
  readonly objects: readonly string[];
  /** Wrong only once it has been so for longer than this, in milliseconds. */
  readonly tolerated?: Tolerated;
  /** It was so when the check began, and may have been allowed when it came about. */
  readonly standing?: boolean;
}

interface Tolerated {
  readonly ms: number;
  /** Since when it is so, where an object tells that; else since it was seen. */
  readonly sinceMs?: number;
}

/** A promise about the fleet that holds at every revision. Pure: judges what it is given, and keeps nothing. */
export interface Invariant {
  /** Kebab case, as it is printed. */
  readonly name: string;
  /** What holds, in one sentence. */
  readonly sentence: string;
  /** What the changes of a step may have put wrong, or right: names of hosts, namespaces, or whatever the invariant is about. */
  subjects(step: Step): Iterable<string>;
  /** All that is wrong with one of them now. What was found before and is not among it any more is over. */
  findings(subject: string, step: Step): readonly Finding[];
}
