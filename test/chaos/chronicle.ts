import type { Found, History, Operation, Write } from './history.ts';
import type { Violation } from './violation.ts';

/** What became of a key with one version; `value` undefined: it was deleted. */
interface Change {
  readonly key: string;
  readonly version: number;
  readonly value: string | undefined;
  /** When it was first seen by anybody. */
  readonly seen: number;
  /** The operation that saw it first. */
  readonly by: number;
}

/**
 * The true order of changes, put together from everything anybody was told: acknowledged writes, reads, lists and watches all name the
 * version of what they show, and one version is one change of one key. What nobody ever saw is not in it: `covered` says for which
 * versions a watch has told everything. Answers that contradict each other are violations. Cost: n log n in what was told.
 */
export class Chronicle {
  readonly violations: Violation[] = [];
  readonly #byVersion = new Map<number, Change>();
  readonly #byKey = new Map<string, Change[]>();
  readonly #ordered: readonly Change[];
  readonly #covered: readonly (readonly [number, number])[];

  constructor({ operations }: History) {
    for (const operation of operations) for (const change of changesOf(operation)) this.#note(change);
    this.#ordered = [...this.#byVersion.values()].sort((a, b) => a.version - b.version);
    for (const change of this.#ordered) {
      const changes = this.#byKey.get(change.key);
      if (changes === undefined) this.#byKey.set(change.key, [change]);
      else changes.push(change);
    }
    this.#covered = union(operations.flatMap((operation) => (operation.kind === 'watch' ? [rangeOf(operation)] : [])));
    this.#checkWriters(operations);
  }

  get keys(): Iterable<string> {
    return this.#byKey.keys();
  }

  /** All changes in order of version. */
  get changes(): readonly Change[] {
    return this.#ordered;
  }

  /** The changes after one version, up to and with another. */
  between(after: number, upTo: number): readonly Change[] {
    return this.#ordered.slice(firstAfter(this.#ordered, after), firstAfter(this.#ordered, upTo));
  }

  /** The last change of a key up to a version. */
  at(key: string, version: number): Change | undefined {
    const changes = this.#byKey.get(key) ?? [];
    return changes[firstAfter(changes, version) - 1];
  }

  /** The first change of a key after a version. */
  next(key: string, version: number): Change | undefined {
    const changes = this.#byKey.get(key) ?? [];
    return changes[firstAfter(changes, version)];
  }

  /** Whether some watch has told everything that happened after one version, up to and with another. */
  covers(after: number, upTo: number): boolean {
    return after >= upTo || this.#covered.some(([from, to]) => from <= after && upTo <= to);
  }

  /** The change that a write made, if anybody ever saw it. */
  madeBy({ value, key }: Write): Change | undefined {
    return value === undefined ? undefined : this.#byKey.get(key)?.find((change) => change.value === value);
  }

  #note(change: Change): void {
    const known = this.#byVersion.get(change.version);
    if (known === undefined || change.seen < known.seen) this.#byVersion.set(change.version, change);
    if (known === undefined || (known.key === change.key && known.value === change.value)) return;
    this.violations.push({
      rule: 'two truths',
      key: change.key,
      message: `version ${change.version} is ${textOf(known)} to one and ${textOf(change)} to another`,
      operations: [known.by, change.by],
    });
  }

  /** Every value has one write that made it, once, asked before it was seen; and there are not more deletions than were asked for. */
  #checkWriters(operations: readonly Operation[]): void {
    const writers = new Map<string, Write>();
    const deletes = new Map<string, Write[]>();
    for (const operation of operations) {
      if (!isWrite(operation)) continue;
      if (operation.value !== undefined) writers.set(operation.value, operation);
      else if (operation.outcome !== 'refused')
        deletes.set(operation.key, [...(deletes.get(operation.key) ?? []), operation]);
    }
    const made = new Map<string, Change>();
    for (const change of this.#ordered) {
      const { value, by } = change;
      if (value === undefined) continue;
      const writer = writers.get(value);
      const fault = writerFault(change, writer, made.get(value));
      if (fault !== undefined)
        this.#phantom(change.key, `${textOf(change)} ${fault}`, writer === undefined ? [by] : [writer.id, by]);
      made.set(value, change);
    }
    for (const [key, changes] of this.#byKey) {
      const deletions = changes.filter(({ value }) => value === undefined);
      const asked = deletes.get(key) ?? [];
      if (deletions.length > asked.length)
        this.#phantom(
          key,
          `was deleted ${deletions.length} times, and that was asked for ${asked.length} times`,
          deletions.map(({ by }) => by),
        );
    }
  }

  #phantom(key: string, message: string, operations: readonly number[]): void {
    this.violations.push({ rule: 'phantom write', key, message: `${key}: ${message}`, operations });
  }
}

function writerFault(change: Change, writer: Write | undefined, earlier: Change | undefined): string | undefined {
  if (writer === undefined || writer.key !== change.key) return 'was written by nobody';
  if (writer.outcome === 'refused') return `was refused: ${writer.why ?? ''}`;
  if (writer.called > change.seen) return 'was seen before it was asked for';
  if (writer.version !== undefined && writer.version !== change.version)
    return `was acknowledged as version ${writer.version}`;
  return earlier === undefined ? undefined : `was written at version ${earlier.version} already`;
}

export function isWrite(operation: Operation): operation is Write {
  return operation.kind === 'create' || operation.kind === 'update' || operation.kind === 'delete';
}

function* changesOf(operation: Operation): Iterable<Change> {
  const { id: by, returned } = operation;
  const change = (key: string, { version, value }: Found) => ({ key, version, value, seen: returned, by });
  if (operation.kind === 'watch') {
    for (const { key, type, version, value, at } of operation.events) {
      if (key !== undefined) yield { key, version, value: type === 'DELETED' ? undefined : value, seen: at, by };
    }
  } else if (operation.kind === 'list') {
    for (const item of operation.items) yield change(item.key, item);
  } else if (operation.kind === 'get') {
    if (operation.found !== undefined) yield change(operation.key, operation.found);
  } else {
    const { key, version, value } = operation;
    if (version !== undefined) yield { key, version, value, seen: returned, by };
  }
}

/** What a watch has told everything of: after `from`, up to its last event. */
export function rangeOf({
  from,
  events,
}: {
  readonly from: number;
  readonly events: readonly { readonly version: number }[];
}): [number, number] {
  return [from, Math.max(from, events.at(-1)?.version ?? from)];
}

function union(ranges: readonly (readonly [number, number])[]): readonly (readonly [number, number])[] {
  const joined: [number, number][] = [];
  for (const [from, to] of ranges.toSorted((a, b) => a[0] - b[0])) {
    const last = joined.at(-1);
    if (last !== undefined && from <= last[1]) last[1] = Math.max(last[1], to);
    else joined.push([from, to]);
  }
  return joined;
}

/** Where in a list ordered by version the first one after a version stands. */
function firstAfter(changes: readonly Change[], version: number): number {
  let low = 0;
  let high = changes.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((changes[middle]?.version ?? 0) > version) high = middle;
    else low = middle + 1;
  }
  return low;
}

const textOf = ({ key, value, version }: Change) =>
  `${key} ${value === undefined ? 'deleted' : `= ${value}`}@${version}`;
