import type { Random } from '../fuzz/random.ts';
import type { Get, History, List, Operation, Watch, Write } from './history.ts';
import type { SimulatedHistory } from './simulated-history.ts';
import type { Rule } from './violation.ts';

/** A way to make a good history a bad one. */
interface Fault {
  readonly name: string;
  /** What of it is enough to be found. */
  readonly rules: readonly Rule[];
  /** Undefined where the history has no place for it. */
  inject(history: SimulatedHistory, random: Random): History | undefined;
}

export const FAULTS: readonly Fault[] = [
  { name: 'a stale read', rules: ['not linearizable'], inject: staleRead },
  { name: 'an acknowledged delete that deleted nothing', rules: ['not linearizable'], inject: idleDelete },
  { name: 'a refusal whose reason was not true', rules: ['not linearizable'], inject: falseRefusal },
  { name: 'a version that goes back', rules: ['not linearizable', 'two truths'], inject: versionBack },
  { name: 'a refused write that happened', rules: ['phantom write'], inject: refusedButDone },
  { name: 'a value nobody wrote', rules: ['phantom write'], inject: fromNowhere },
  { name: 'a write that happened twice', rules: ['phantom write'], inject: twice },
  { name: 'a deletion nobody asked for', rules: ['phantom write'], inject: deletedByNobody },
  { name: 'one version with two values', rules: ['two truths'], inject: twoTruths },
  { name: 'a stale list', rules: ['stale list'], inject: staleList },
  { name: 'a list that misses an object', rules: ['not a snapshot'], inject: shortList },
  { name: 'a list with pages of two versions', rules: ['not a snapshot'], inject: tornList },
  { name: 'an exact list at another version', rules: ['stale list'], inject: inexactList },
  { name: 'a list at hand older than what the client had seen there', rules: ['stale list'], inject: backwardsList },
  { name: 'a watch that misses a change', rules: ['watch gap'], inject: watchGap },
  { name: 'a watch that repeats a change', rules: ['watch repeat'], inject: watchRepeat },
  { name: 'a watch out of order', rules: ['watch repeat'], inject: watchSwap },
  { name: 'a watch that calls a new object modified', rules: ['watch repeat'], inject: watchMisnamed },
  { name: 'a bookmark that overtakes a change', rules: ['watch repeat', 'watch gap'], inject: hastyBookmark },
];

const base = (history: SimulatedHistory) => {
  const called = history.moment();
  return { id: history.nextId(), client: 0, server: 0, called, returned: history.moment(), outcome: 'ok' as const };
};
const plus = ({ operations }: History, ...more: readonly Operation[]): History => ({
  operations: [...operations, ...more],
});
const instead = ({ operations }: History, old: Operation, now: Operation): History => ({
  operations: operations.map((each) => (each === old ? now : each)),
});

function writesOf({ operations }: History): (Write & { readonly version: number; readonly value: string })[] {
  return operations.filter(
    (each): each is Write & { version: number; value: string } =>
      each.kind !== 'watch' && 'version' in each && each.version !== undefined,
  );
}

function present(history: SimulatedHistory, random: Random) {
  const keys = ['a', 'b', 'c'].filter((key) => history.at(key) !== undefined);
  if (keys.length === 0) return undefined;
  const key = random.pick(keys);
  const found = history.at(key);
  return found && { key, found };
}

function staleRead(history: SimulatedHistory, random: Random): History | undefined {
  const writes = writesOf(history);
  const pairs = writes.flatMap((old) => {
    const newer = writes.find((each) => each.key === old.key && each.version > old.version);
    return newer === undefined ? [] : [{ old, newer }];
  });
  const reads = history.operations.flatMap((read) => {
    if (read.kind !== 'get') return [];
    const old = pairs.filter(({ old, newer }) => old.key === read.key && newer.returned < read.called);
    return old.map((pair) => ({ read, ...pair }));
  });
  if (reads.length === 0) return undefined;
  const { read, old } = random.pick(reads);
  const stale: Get = { ...read, found: { value: old.value, version: old.version } };
  return instead(history, read, stale);
}

function idleDelete(history: SimulatedHistory, random: Random): History | undefined {
  const there = present(history, random);
  if (there === undefined) return undefined;
  const gone: Write = { ...base(history), kind: 'delete', key: there.key };
  return plus(history, gone, { ...base(history), kind: 'get', key: there.key, found: there.found });
}

function falseRefusal(history: SimulatedHistory, random: Random): History | undefined {
  // What is still under way may happen at any time, and then the reason is true.
  const open = history.operations.flatMap((each) => (each.outcome === 'unknown' && 'key' in each ? [each.key] : []));
  const keys = ['a', 'b', 'c'].filter((each) => !open.includes(each));
  if (keys.length === 0) return undefined;
  const key = random.pick(keys);
  const found = history.at(key);
  const refused = { outcome: 'refused' as const, kind: 'update' as const, key, value: 'refused' };
  if (found === undefined) return plus(history, { ...base(history), ...refused, claim: 'present', kind: 'create' });
  const claim = random.pick(['absent', 'other'] as const);
  return plus(history, { ...base(history), ...refused, over: found.version, claim });
}

function versionBack(history: SimulatedHistory, random: Random): History | undefined {
  const writes = writesOf(history);
  if (writes.length === 0) return undefined;
  const { key, version } = random.pick(writes);
  const there = history.at(key);
  const back = there === undefined ? ({ kind: 'create' } as const) : ({ kind: 'update', over: there.version } as const);
  return plus(history, { ...base(history), ...back, key, value: 'back', version: version - 0.5 });
}

function refusedButDone(history: SimulatedHistory, random: Random): History | undefined {
  const writes = writesOf(history).filter(({ value }) =>
    history.operations.some((each) => each.kind === 'watch' && each.events.some((event) => event.value === value)),
  );
  if (writes.length === 0) return undefined;
  const { version: _, ...write } = random.pick(writes);
  const old = history.operations.find(({ id }) => id === write.id) as Operation;
  return instead(history, old, { ...write, outcome: 'refused', why: '503' });
}

function fromNowhere(history: SimulatedHistory): History {
  return plus(history, {
    ...base(history),
    kind: 'get',
    key: 'a',
    found: { value: 'nowhere', version: history.version + 1 },
  });
}

function twice(history: SimulatedHistory, random: Random): History | undefined {
  const writes = writesOf(history);
  if (writes.length === 0) return undefined;
  const { key, value } = random.pick(writes);
  return plus(history, { ...base(history), kind: 'get', key, found: { value, version: history.version + 1 } });
}

function deletedByNobody(history: SimulatedHistory, random: Random): History | undefined {
  const there = present(history, random);
  const asked = history.operations.some(
    (each) => each.kind === 'delete' && each.key === there?.key && each.outcome === 'unknown',
  );
  if (there === undefined || asked) return undefined;
  const event = {
    at: history.moment(),
    type: 'DELETED' as const,
    key: there.key,
    value: there.found.value,
    version: history.version + 1,
  };
  return plus(history, { ...base(history), kind: 'watch', from: history.version, events: [event] });
}

function twoTruths(history: SimulatedHistory, random: Random): History | undefined {
  const writes = writesOf(history);
  if (writes.length < 2) return undefined;
  const [one, other] = [random.pick(writes), random.pick(writes)];
  if (one.value === other.value) return undefined;
  return plus(history, {
    ...base(history),
    kind: 'get',
    key: one.key,
    found: { value: other.value, version: one.version },
  });
}

const listsOf = ({ operations }: History) => operations.filter((each): each is List => each.kind === 'list');

function staleList(history: SimulatedHistory, random: Random): History | undefined {
  const [first, last] = [writesOf(history)[0], listsOf(history).at(-1)];
  if (first === undefined || last === undefined) return undefined;
  const version = first.version - 1 - random.below(2);
  return instead(history, last, { ...last, versions: [version], items: [] });
}

function shortList(history: SimulatedHistory, random: Random): History | undefined {
  const lists = listsOf(history).filter(({ items }) => items.length > 0);
  if (lists.length === 0) return undefined;
  const list = random.pick(lists);
  return instead(history, list, { ...list, items: list.items.slice(1) });
}

function tornList(history: SimulatedHistory, random: Random): History | undefined {
  const list = random.pick(listsOf(history));
  return instead(history, list, { ...list, versions: [...list.versions, (list.versions[0] ?? 0) + 1] });
}

function inexactList(history: SimulatedHistory): History | undefined {
  const last = listsOf(history).at(-1);
  return last && instead(history, last, { ...last, mode: 'exact', asked: history.version - 1 });
}

function backwardsList(history: SimulatedHistory): History | undefined {
  const [first, last] = [listsOf(history)[0], listsOf(history).at(-1)];
  if (first === undefined || last === undefined || first.versions[0] === last.versions[0]) return undefined;
  return plus(history, { ...first, ...base(history), client: last.client, mode: 'any' });
}

function watchOf(
  history: SimulatedHistory,
  random: Random,
  least: number,
): { watch: Watch; changes: number } | undefined {
  const watches = history.operations.filter(
    (each): each is Watch => each.kind === 'watch' && each.events.length > least,
  );
  if (watches.length === 0) return undefined;
  const watch = random.pick(watches);
  return { watch, changes: watch.events.length - 1 };
}

function watchGap(history: SimulatedHistory, random: Random): History | undefined {
  const some = watchOf(history, random, 1);
  if (some === undefined) return undefined;
  const events = some.watch.events.toSpliced(random.below(some.changes), 1);
  // Somebody else must have seen it: what nobody saw may not have happened.
  const whole = { ...some.watch, id: history.nextId() };
  return plus(instead(history, some.watch, { ...some.watch, events }), whole);
}

function watchRepeat(history: SimulatedHistory, random: Random): History | undefined {
  const some = watchOf(history, random, 1);
  if (some === undefined) return undefined;
  const at = random.below(some.changes);
  const event = some.watch.events[at];
  if (event === undefined) return undefined;
  const events = some.watch.events.toSpliced(at + 1 + random.below(some.changes - at), 0, event);
  return instead(history, some.watch, { ...some.watch, events });
}

function watchSwap(history: SimulatedHistory, random: Random): History | undefined {
  const some = watchOf(history, random, 2);
  if (some === undefined) return undefined;
  const at = random.below(some.changes - 1);
  const [one, other] = some.watch.events.slice(at, at + 2);
  if (one === undefined || other === undefined) return undefined;
  return instead(history, some.watch, { ...some.watch, events: some.watch.events.toSpliced(at, 2, other, one) });
}

function watchMisnamed(history: SimulatedHistory, random: Random): History | undefined {
  const some = watchOf(history, random, 1);
  const at = some?.watch.events.findIndex(({ type }) => type === 'ADDED') ?? -1;
  const event = some?.watch.events[at];
  if (some === undefined || event === undefined) return undefined;
  const events = some.watch.events.toSpliced(at, 1, { ...event, type: 'MODIFIED' });
  return instead(history, some.watch, { ...some.watch, events });
}

function hastyBookmark(history: SimulatedHistory, random: Random): History | undefined {
  const some = watchOf(history, random, 1);
  if (some === undefined) return undefined;
  const at = random.below(some.changes);
  const event = some.watch.events[at];
  if (event === undefined) return undefined;
  const events = some.watch.events.toSpliced(at, 0, { at: event.at, type: 'BOOKMARK', version: event.version });
  return instead(history, some.watch, { ...some.watch, events });
}
