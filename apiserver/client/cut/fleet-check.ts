import type { Clock } from '../../../resources/ambient/clock.ts';
import { INVARIANTS } from '../../../resources/invariants/all-invariants.ts';
import { FleetChecker, type Violation } from '../../../resources/invariants/fleet-checker.ts';
import type { Change, Invariant } from '../../../resources/invariants/invariant.ts';
import { WATCHED } from '../../../resources/invariants/watched.ts';
import { type KubeObject, objectKey } from '../../../resources/meta/object.ts';

import type { ApiClient } from '../client.ts';
import type { CutEvent, WholeRevision } from './cut-buffer.ts';
import { listCut } from './list-cut.ts';
import { type CutListener, type Gap, WatchedCut } from './watched-cut.ts';

export interface CheckListener {
  /** It judges from this revision on: at the beginning, and again after a gap. */
  begun(revision: number, objects: number): void;
  violation(violation: Violation): void;
  gap(gap: Gap): void;
  /** A watch broke off, and is begun again; in words. */
  broke(why: string): void;
}

interface FleetCheckOptions {
  /** An operator's. */
  readonly client: ApiClient;
  readonly clock: Clock;
  /** A number in [0, 1). */
  readonly random: () => number;
  readonly listener?: Partial<CheckListener>;
  /** All of them when absent. */
  readonly invariants?: readonly Invariant[];
}

/** What a check has come to. */
export interface CheckFigures {
  /** The first and the last revision; 0 before there is any. */
  readonly from: number;
  readonly to: number;
  /** Revisions that changed something that invariants are about. */
  readonly judged: number;
  /** Revisions between the first and the last that nobody saw. */
  readonly unseen: number;
  readonly objects: number;
  readonly violations: number;
  /** What was so when the check began, and may have been allowed. */
  readonly standing: number;
}

/** Watches a whole fleet through the API, and judges it at every revision. */
export class FleetCheck {
  readonly #options: FleetCheckOptions;
  readonly #checker: FleetChecker;
  readonly #cut: WatchedCut;
  readonly #waiting = new Set<() => void>();
  #figures = { from: 0, judged: 0, unseen: 0, violations: 0, standing: 0 };
  #to = 0;
  /** Wall time less steady time when it began: a clock that is set meanwhile makes nothing last longer. */
  #beganMs = 0;

  constructor(options: FleetCheckOptions) {
    const { client, clock, random, invariants = INVARIANTS } = options;
    this.#options = options;
    this.#checker = new FleetChecker(invariants);
    this.#cut = new WatchedCut({ client, clock, random, resources: WATCHED, listener: this.#listener() });
  }

  get figures(): CheckFigures {
    return { ...this.#figures, to: this.#to, objects: this.#checker.state.size };
  }

  /** Judges what there is now, and nothing after it. */
  async once(signal: AbortSignal): Promise<void> {
    const { objects, revision } = await listCut(this.#options.client, WATCHED, signal);
    this.#begin(objects, revision);
  }

  /** Goes on until the signal aborts, then resolves. Rejects when it cannot begin. Call it once. */
  run(signal: AbortSignal): Promise<void> {
    return this.#cut.run(signal);
  }

  /** Resolves when everything that was written before has been judged; rejects when the signal aborts first. For use while it runs. */
  async caughtUp(signal: AbortSignal): Promise<void> {
    const [ref] = WATCHED;
    if (ref === undefined) return;
    const { metadata } = await this.#options.client.resource<KubeObject>(ref).list({ limit: 1 }, signal);
    const wanted = Number(metadata.resourceVersion);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const look = () => {
      if (this.#to >= wanted) resolve();
    };
    const late = () => reject(signal.reason);
    this.#waiting.add(look);
    signal.addEventListener('abort', late, { once: true });
    try {
      look();
      if (signal.aborted) late();
      await promise;
    } finally {
      this.#waiting.delete(look);
      signal.removeEventListener('abort', late);
    }
  }

  #listener(): CutListener {
    const { listener = {} } = this.#options;
    return {
      begun: (objects, revision) => {
        const count = [...objects.values()].reduce((sum, items) => sum + items.length, 0);
        listener.begun?.(revision, count);
        this.#begin(objects, revision);
      },
      step: (whole) => this.#step(whole),
      passed: (revision) => {
        this.#to = revision;
        this.#tell(this.#checker.pass(revision, this.#nowMs()));
        for (const look of [...this.#waiting]) look();
      },
      gap: (gap) => {
        this.#figures.unseen += gap.to - gap.from + 1;
        listener.gap?.(gap);
      },
      broke: (why) => {
        this.#checker.pause(this.#nowMs());
        listener.broke?.(why);
      },
    };
  }

  #begin(objects: ReadonlyMap<string, readonly KubeObject[]>, revision: number): void {
    const changes = [...objects].flatMap(([resource, items]) =>
      items.map((item): Change => ({ resource, key: objectKey(item.metadata), before: undefined, after: slim(item) })),
    );
    const { clock } = this.#options;
    this.#beganMs = clock.now() - clock.monotonic();
    if (this.#figures.from === 0) this.#figures.from = revision;
    this.#figures.judged++;
    this.#to = revision;
    this.#tell(this.#checker.begin(changes, revision, this.#nowMs()));
  }

  #step({ revision, events }: WholeRevision): void {
    const changes = events.map((event) => this.#change(event));
    this.#figures.judged++;
    this.#tell(this.#checker.take(changes, revision, this.#nowMs()));
  }

  #change({ resource, key, object }: CutEvent): Change {
    const before = this.#checker.state.get(resource, key);
    return { resource, key, before, after: object === undefined ? undefined : slim(object) };
  }

  #nowMs(): number {
    return this.#beganMs + this.#options.clock.monotonic();
  }

  #tell(violations: readonly Violation[]): void {
    for (const violation of violations) {
      if (violation.standing) this.#figures.standing++;
      else this.#figures.violations++;
      this.#options.listener?.violation?.(violation);
    }
  }
}

/** Without what no invariant is about: there may be many objects. */
function slim(object: KubeObject): KubeObject {
  const { managedFields: _, annotations: __, ...metadata } = object.metadata;
  return { ...object, metadata };
}
