import { type Chronicle, isWrite } from './chronicle.ts';
import { foundText, type History, type List, type Operation, type Write } from './history.ts';
import type { Violation } from './violation.ts';

/**
 * Lists: all pages are of one version, and show exactly the state at it. A fresh one is not older than anything anybody was told before it was asked
 * for, nor than the version it was asked for with; an exact one is at its version; and one of what is at hand is not older than what
 * its client has read at that server before. Cost: a look-up for each list and key.
 */
export function checkLists(history: History, chronicle: Chronicle): Violation[] {
  const lists = history.operations.filter((each): each is List => each.kind === 'list' && each.outcome === 'ok');
  const newest = newestTold(history);
  const deletes = deletesByKey(history);
  return lists.flatMap((list) => [
    ...agesOf(list, newest, history),
    ...(snapshotFault(list, chronicle, deletes) ?? []),
  ]);
}

function agesOf(list: List, newest: (moment: number) => Told, history: History): Violation[] {
  const [version = 0] = list.versions;
  const stale = (message: string, ...others: readonly number[]): Violation => ({
    rule: 'stale list',
    message: `the list is at version ${version}, ${message}`,
    operations: [...others, list.id],
  });
  if (list.mode === 'exact') return version === list.asked ? [] : [stale(`and ${list.asked} was asked for`)];
  if (list.mode === 'any') {
    const shown = shownBefore(list, history);
    return shown === undefined || shown.version <= version
      ? []
      : [stale(`after ${shown.version} at the same server`, shown.by)];
  }
  const told = newest(list.called);
  if (told.version > version) return [stale(`after ${told.version} was told`, told.by)];
  return (list.asked ?? 0) > version ? [stale(`and at least ${list.asked} was asked for`)] : [];
}

/** Whether the list is the state at its version. What was deleted unseen may be missing. */
function snapshotFault(
  list: List,
  chronicle: Chronicle,
  deletes: ReadonlyMap<string, readonly Write[]>,
): Violation[] | undefined {
  const [version = 0] = list.versions;
  const fault = (message: string, key?: string, by?: number): Violation[] => [
    {
      rule: 'not a snapshot',
      message: `the list at version ${version}: ${message}`,
      operations: by === undefined ? [list.id] : [by, list.id],
      ...(key === undefined ? {} : { key }),
    },
  ];
  if (list.versions.some((each) => each !== version)) return fault(`its pages are at ${list.versions.join(', ')}`);
  const items = new Map(list.items.map((item) => [item.key, item]));
  if (items.size < list.items.length) return fault('it has an object twice');
  for (const key of new Set([...chronicle.keys, ...items.keys()])) {
    const change = chronicle.at(key, version);
    const item = items.get(key);
    if (change?.value === item?.value && (item === undefined || change?.version === item.version)) continue;
    const unseen =
      item === undefined && change !== undefined && mayBeGone(list, change.version, key, deletes, chronicle);
    if (!unseen)
      return fault(
        `${key} is ${foundText(item)}, and was ${change?.value ?? 'none'}@${change?.version}`,
        key,
        change?.by,
      );
  }
  return undefined;
}

/** Whether a deletion that nobody saw explains that a key is missing. */
function mayBeGone(
  list: List,
  stood: number,
  key: string,
  deletes: ReadonlyMap<string, readonly Write[]>,
  chronicle: Chronicle,
): boolean {
  const [version = 0] = list.versions;
  if (chronicle.covers(stood, version)) return false;
  return (deletes.get(key) ?? []).some(
    ({ called, over }) => called < list.firstPage && (over === undefined || over === stood),
  );
}

function deletesByKey({ operations }: History): ReadonlyMap<string, readonly Write[]> {
  const found = operations.filter(
    (each): each is Write => isWrite(each) && each.kind === 'delete' && each.outcome !== 'refused',
  );
  return Map.groupBy(found, ({ key }) => key);
}

interface Told {
  readonly version: number;
  readonly by: number;
}

/** The greatest version anybody had been told before a moment. */
function newestTold(history: History): (moment: number) => Told {
  const told = history.operations.flatMap(toldBy).sort((a, b) => a.at - b.at);
  const greatest: (Told & { readonly at: number })[] = [];
  for (const each of told) if (each.version > (greatest.at(-1)?.version ?? 0)) greatest.push(each);
  return (moment) => greatest.findLast(({ at }) => at < moment) ?? { version: 0, by: -1 };
}

function toldBy(operation: Operation): readonly (Told & { readonly at: number })[] {
  const { id: by, returned: at } = operation;
  if (operation.kind === 'watch')
    return operation.events.map((event) => ({ at: event.at, version: event.version, by }));
  if (operation.outcome !== 'ok') return [];
  if (operation.kind === 'list') return operation.versions.map((version) => ({ at, version, by }));
  const version = operation.kind === 'get' ? operation.found?.version : operation.version;
  return version === undefined ? [] : [{ at, version, by }];
}

/** The newest that the client had read at the server before the list was asked for. Its writes do not count: a cache may be behind them. */
function shownBefore(list: List, { operations }: History): Told | undefined {
  let newest: Told | undefined;
  for (const operation of operations) {
    if (operation.client !== list.client || operation.server !== list.server || isWrite(operation)) continue;
    if (operation.kind === 'list' && operation.mode === 'exact') continue;
    for (const told of toldBy(operation)) {
      if (told.at < list.called && told.version > (newest?.version ?? 0)) newest = told;
    }
  }
  return newest;
}
