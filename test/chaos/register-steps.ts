import { type Chronicle, isWrite } from './chronicle.ts';
import type { Claim, Found, History, Operation, Write } from './history.ts';

/** What an operation does to the register of one key, or says of it, at one moment between `called` and `returned`. */
export interface Step {
  readonly id: number;
  readonly called: number;
  /** Infinity: it may happen at any time after, or never. */
  readonly returned: number;
  readonly act: Act;
}

export type Act =
  | {
      readonly type: 'put';
      readonly made: boolean;
      readonly value: string;
      readonly version?: number;
      readonly over?: number;
    }
  | { readonly type: 'remove'; readonly over?: number }
  | { readonly type: 'found'; readonly found: Found | undefined }
  | { readonly type: 'claim'; readonly claim: Claim; readonly over?: number };

/**
 * The steps of every key. A write of unknown outcome is looked up in the chronicle: one that somebody saw has happened before that, one that a
 * watch without a gap did not see has not, and of the others either may be. A fresh list is a read of every key there ever was.
 */
export function stepsByKey(history: History, chronicle: Chronicle): ReadonlyMap<string, readonly Step[]> {
  const steps = new Map<string, Step[]>();
  const first = Math.min(...history.operations.flatMap((each) => (each.kind === 'list' ? each.versions : [])));
  const last = chronicle.changes.at(-1)?.version ?? 0;
  const complete = chronicle.covers(first, last);
  for (const { key } of history.operations.filter((each) => 'key' in each)) steps.set(key, []);
  for (const key of chronicle.keys) steps.set(key, []);
  for (const operation of history.operations) {
    for (const [key, step] of stepsOf(operation, [...steps.keys()], chronicle, complete)) steps.get(key)?.push(step);
  }
  return steps;
}

function* stepsOf(
  operation: Operation,
  keys: readonly string[],
  chronicle: Chronicle,
  complete: boolean,
): Iterable<[string, Step]> {
  const { id, called, returned, outcome } = operation;
  if (isWrite(operation)) {
    const step = stepOfWrite(operation, chronicle, complete);
    if (step !== undefined) yield [operation.key, step];
  } else if (operation.kind === 'get') {
    if (outcome === 'ok')
      yield [operation.key, { id, called, returned, act: { type: 'found', found: operation.found } }];
  } else if (operation.kind === 'list' && outcome === 'ok' && operation.mode === 'fresh') {
    const found = new Map(operation.items.map((item) => [item.key, item]));
    for (const key of keys) {
      yield [key, { id, called, returned: operation.firstPage, act: { type: 'found', found: found.get(key) } }];
    }
  }
}

function stepOfWrite(write: Write, chronicle: Chronicle, complete: boolean): Step | undefined {
  const { id, called, returned, outcome, claim, over } = write;
  const overPart = over === undefined ? {} : { over };
  if (outcome === 'refused') {
    return claim && { id, called, returned, act: { type: 'claim', claim, ...overPart } };
  }
  if (write.value === undefined) {
    return { id, called, returned: outcome === 'ok' ? returned : Infinity, act: { type: 'remove', ...overPart } };
  }
  const seen = chronicle.madeBy(write);
  if (outcome === 'unknown' && seen === undefined && complete) return undefined;
  const version = write.version ?? seen?.version;
  return {
    id,
    called,
    returned: outcome === 'ok' ? returned : (seen?.seen ?? Infinity),
    act: {
      type: 'put',
      made: write.kind === 'create',
      value: write.value,
      ...(version === undefined ? {} : { version }),
      ...overPart,
    },
  };
}
