import { type Chronicle, rangeOf } from './chronicle.ts';
import type { History, Watch, WatchEvent } from './history.ts';
import type { Violation } from './violation.ts';

/**
 * Watches: after the version it was begun at a watch tells every change once, in order, as what it is, until it ends; what it has told
 * goes up to its last event, a bookmark too. One that goes on from there, at whatever server, is judged the same way, so that between
 * the two nothing is missing and nothing comes twice. Cost: linear in what was told.
 */
export function checkWatches({ operations }: History, chronicle: Chronicle): Violation[] {
  return operations.flatMap((operation) =>
    operation.kind === 'watch' ? [...orderFaults(operation, chronicle), ...gapFaults(operation, chronicle)] : [],
  );
}

function orderFaults(watch: Watch, chronicle: Chronicle): Violation[] {
  let before = watch.from;
  for (const event of watch.events) {
    const { version, type } = event;
    const late = type === 'BOOKMARK' ? version < before : version <= before;
    if (late) return [repeat(watch, event, `came after ${before}`)];
    before = version;
    const wanted = changeText(event, chronicle);
    if (wanted !== undefined && wanted !== eventText(event)) return [repeat(watch, event, `was ${wanted}`)];
  }
  return [];
}

function repeat(watch: Watch, { type, version, key }: WatchEvent, message: string): Violation {
  return {
    rule: 'watch repeat',
    message: `watch ${watch.id} from ${watch.from}: ${type} ${key ?? ''}@${version} ${message}`,
    operations: [watch.id],
    ...(key === undefined ? {} : { key }),
  };
}

const eventText = ({ type, value }: WatchEvent) => (type === 'DELETED' ? `DELETED, ${value} before` : type);

/** What the change of an event was; undefined where nobody saw what was there before. */
function changeText({ key, version }: WatchEvent, chronicle: Chronicle): string | undefined {
  if (key === undefined) return 'BOOKMARK';
  const before = chronicle.at(key, version - 1);
  if (before !== undefined && !chronicle.covers(before.version, version)) return undefined;
  if (chronicle.at(key, version)?.value === undefined) return `DELETED, ${before?.value} before`;
  return before?.value === undefined ? 'ADDED' : 'MODIFIED';
}

function gapFaults(watch: Watch, chronicle: Chronicle): Violation[] {
  const told = new Set(watch.events.map(({ version, key }) => `${key}@${version}`));
  const [from, upTo] = rangeOf(watch);
  const missing = chronicle.between(from, upTo).find(({ key, version }) => !told.has(`${key}@${version}`));
  if (missing === undefined) return [];
  const { key, version, by } = missing;
  const message = `watch ${watch.id} from ${from} told up to ${upTo}, and not of ${key}@${version}`;
  return [{ rule: 'watch gap', key, message, operations: [by, watch.id] }];
}
