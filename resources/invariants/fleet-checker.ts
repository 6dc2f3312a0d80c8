import { entry } from '../meta/map-entry.ts';
import { FleetState } from './fleet-state.ts';
import type { Change, Finding, Invariant, Step } from './invariant.ts';

/** A promise that was broken. */
export interface Violation {
  readonly revision: number;
  readonly invariant: string;
  readonly message: string;
  readonly objects: readonly string[];
  /** It was so when the check began, and may have been allowed when it came about. */
  readonly standing: boolean;
}

/** A finding that was made and is not over. */
interface Open {
  readonly invariant: string;
  readonly finding: Finding;
  readonly revision: number;
  sinceMs: number;
  told: boolean;
}

/**
 * Judges a fleet revision by revision. Only what a revision may have changed is judged anew, so that the cost is that of the change; what is tolerated for a
 * while is judged again as time goes on. Each finding is told once, until it is over and comes again.
 */
export class FleetChecker {
  readonly #invariants: readonly Invariant[];
  #state = new FleetState();
  /** By invariant and subject, then by the finding's key. */
  readonly #open = new Map<string, Map<string, Open>>();
  /** Those that are tolerated still. */
  readonly #waiting = new Set<Open>();

  constructor(invariants: readonly Invariant[]) {
    this.#invariants = invariants;
  }

  get state(): FleetState {
    return this.#state;
  }

  /** Begins, or begins anew after revisions that nobody saw, with everything there is. `changes` have no `before`. */
  begin(changes: readonly Change[], revision: number, nowMs: number): readonly Violation[] {
    this.#state = new FleetState();
    this.#open.clear();
    this.#waiting.clear();
    this.#state.apply(changes);
    return this.#judge({ revision, nowMs, first: true, changes, state: this.#state });
  }

  /** The next revision, and everything it changed. */
  take(changes: readonly Change[], revision: number, nowMs: number): readonly Violation[] {
    this.#state.apply(changes);
    return this.#judge({ revision, nowMs, first: false, changes, state: this.#state });
  }

  /** Nothing has changed up to this revision; time has. */
  pass(revision: number, nowMs: number): readonly Violation[] {
    return this.#overdue(revision, nowMs);
  }

  /** For a while nobody looked: it does not count for what is tolerated. */
  pause(nowMs: number): void {
    for (const open of this.#waiting) open.sinceMs = nowMs;
  }

  #judge(step: Step): readonly Violation[] {
    const violations: Violation[] = [];
    for (const invariant of this.#invariants) {
      for (const subject of new Set(invariant.subjects(step)))
        violations.push(...this.#subject(invariant, subject, step));
    }
    return [...violations, ...this.#overdue(step.revision, step.nowMs)];
  }

  #subject(invariant: Invariant, subject: string, step: Step): readonly Violation[] {
    const found = new Map(invariant.findings(subject, step).map((finding) => [finding.key, finding]));
    const id = `${invariant.name} ${subject}`;
    const open = this.#open.get(id);
    for (const [key, before] of open ?? []) {
      if (found.has(key)) continue;
      open?.delete(key);
      this.#waiting.delete(before);
    }
    if (open?.size === 0) this.#open.delete(id);
    const fresh = [...found].filter(([key]) => open?.has(key) !== true);
    return fresh.flatMap(([, finding]) => this.#found(invariant.name, id, finding, step));
  }

  #found(invariant: string, id: string, finding: Finding, { revision, nowMs }: Step): readonly Violation[] {
    const { tolerated, key } = finding;
    const sinceMs = Math.min(nowMs, tolerated?.sinceMs ?? nowMs);
    const open: Open = { invariant, finding, revision, sinceMs, told: tolerated === undefined };
    entry(this.#open, id, () => new Map<string, Open>()).set(key, open);
    if (open.told) return [violation(open, revision)];
    this.#waiting.add(open);
    return [];
  }

  #overdue(revision: number, nowMs: number): readonly Violation[] {
    const overdue = [...this.#waiting].filter(({ sinceMs, finding }) => nowMs - sinceMs > (finding.tolerated?.ms ?? 0));
    for (const open of overdue) {
      open.told = true;
      this.#waiting.delete(open);
    }
    return overdue.map((open) => violation(open, revision));
  }
}

function violation({ invariant, finding }: Open, revision: number): Violation {
  const { message, objects, standing = false } = finding;
  return { revision, invariant, message, objects, standing };
}
