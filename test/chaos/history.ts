import type { Clock } from '../../resources/ambient/clock.ts';

/**
 * What clients of a fleet asked, and what they were told. Moments are whole numbers that one recorder gives out, one for each call and each
 * answer: of two moments the smaller was earlier, whichever client it was, and no two are the same.
 */
export interface History {
  readonly operations: readonly Operation[];
}

export type Operation = Write | Get | List | Watch;

/** `refused`: it certainly did not happen. `unknown`: nobody was told. */
export type Outcome = 'ok' | 'refused' | 'unknown';

interface Asked {
  readonly id: number;
  readonly client: number;
  /** Which of the servers was asked. */
  readonly server: number;
  readonly called: number;
  /** When the answer was there; Infinity while there is none. */
  readonly returned: number;
  readonly outcome: Outcome;
  /** Of what did not succeed: what was told. */
  readonly why?: string;
}

export interface Write extends Asked {
  readonly kind: 'create' | 'update' | 'delete';
  readonly key: string;
  /** What a create or update writes: no two writes of a history write the same. */
  readonly value?: string;
  /** The version it must be over; undefined: whatever stands. */
  readonly over?: number;
  /** The version it was told it made. */
  readonly version?: number;
  /** Of a refusal: what it says of the key, true at some moment while it was asked. */
  readonly claim?: Claim;
}

/** There is one; there is none; there is none at the version asked for. */
export type Claim = 'present' | 'absent' | 'other';

export interface Found {
  readonly value: string;
  readonly version: number;
}

export interface Get extends Asked {
  readonly kind: 'get';
  readonly key: string;
  /** Of one that is ok: undefined says there is none. */
  readonly found?: Found;
}

export interface List extends Asked {
  readonly kind: 'list';
  /** `fresh` sees every write acknowledged before, `any` what is at hand, `exact` what was at a version. */
  readonly mode: 'fresh' | 'any' | 'exact';
  /** Of a fresh list: not older than this either. Of an exact one: at this. */
  readonly asked?: number;
  /** The version of each page. */
  readonly versions: readonly number[];
  readonly items: readonly (Found & { readonly key: string })[];
  /** When the first page was there: the others show that state too. */
  readonly firstPage: number;
}

export interface Watch extends Asked {
  readonly kind: 'watch';
  /** Everything after this version is asked for. */
  readonly from: number;
  readonly events: readonly WatchEvent[];
}

export interface WatchEvent {
  readonly at: number;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  readonly version: number;
  /** Not of a bookmark. */
  readonly key?: string;
  /** Not of a bookmark. Of a deletion: what stood last. */
  readonly value?: string;
}

type Plain<T> = T extends Asked ? Omit<T, 'id' | 'returned'> & { readonly returned?: number } : never;

/** Writes a history down while it happens. */
export class Recorder implements History {
  readonly operations: Operation[] = [];
  readonly #clock: Clock;
  readonly #beganMs: number;
  readonly #answeredMs: number[] = [];
  #moment = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#beganMs = clock.monotonic();
  }

  /** The next moment. */
  moment(): number {
    this.#moment += 1;
    return this.#moment;
  }

  /** What was asked and has ended now, unless it says when. */
  add(operation: Plain<Operation>): void {
    const returned = operation.returned ?? this.moment();
    this.operations.push({ ...operation, returned, id: this.operations.length } as Operation);
    const answered = operation.outcome === 'ok' || ('claim' in operation && operation.claim !== undefined);
    if (answered && operation.kind !== 'watch') this.#answeredMs.push(this.#clock.monotonic());
  }

  /** Milliseconds since the beginning. */
  elapsedMs(): number {
    return this.#clock.monotonic() - this.#beganMs;
  }

  /** The longest time in which nobody was answered, in milliseconds, and when it began. */
  longestSilence(): { readonly ms: number; readonly sinceMs: number } {
    let longest = { ms: 0, sinceMs: 0 };
    let before = this.#beganMs;
    for (const at of [...this.#answeredMs, this.#clock.monotonic()]) {
      if (at - before > longest.ms) longest = { ms: at - before, sinceMs: before - this.#beganMs };
      before = at;
    }
    return longest;
  }
}

/** How one line tells an operation. */
export function operationLine(operation: Operation): string {
  const { id, client, server, called, returned, outcome, why } = operation;
  const when = `[${called}..${Number.isFinite(returned) ? returned : ''}]`;
  const told = `${outcome}${why === undefined ? '' : ` (${why})`}`;
  return `${id} client ${client} at server ${server} ${when} ${detailsOf(operation)}: ${told}`;
}

function detailsOf(operation: Operation): string {
  switch (operation.kind) {
    case 'get':
      return `get ${operation.key} -> ${foundText(operation.found)}`;
    case 'list':
      return `list ${operation.mode} ${operation.asked ?? ''} -> ${operation.items.length} at ${operation.versions.join(',')}`;
    case 'watch':
      return `watch from ${operation.from}, ${operation.events.length} events`;
    default: {
      const { kind, key, value, over, version, claim } = operation;
      const parts = [
        value === undefined ? '' : ` = ${value}`,
        over === undefined ? '' : ` over ${over}`,
        version === undefined ? '' : ` -> ${version}`,
        claim === undefined ? '' : ` (${claim})`,
      ];
      return `${kind} ${key}${parts.join('')}`;
    }
  }
}

export function foundText(found: Found | undefined): string {
  return found === undefined ? 'none' : `${found.value}@${found.version}`;
}
