import { humanDuration } from '../../resources/meta/duration.ts';
import { isObject, type JsonObject, type KubeObject } from '../../resources/meta/object.ts';
import { conditionsOf } from './conditions.ts';
import { alignColumns, oneLine } from './table.ts';

/** Said at the top, or only of use to machines. */
const LEFT_OUT = new Set(['name', 'namespace', 'labels', 'annotations', 'managedFields', 'selfLink']);
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** An object for people: names first, then every field under a spelt-out name, conditions as a table, and what happened to it. */
export function renderDescription(object: KubeObject, events: readonly JsonObject[], nowMs: number): string {
  const { apiVersion, kind, metadata, ...rest } = object;
  const head: [string, string][] = [
    ['Name:', metadata.name],
    ...(metadata.namespace === undefined ? [] : ([['Namespace:', metadata.namespace]] as [string, string][])),
    ...pairs('Labels:', metadata.labels ?? {}, '='),
    ...pairs('Annotations:', without(metadata.annotations ?? {}, LAST_APPLIED), ': '),
    ['API Version:', apiVersion],
    ['Kind:', kind],
  ];
  const meta = Object.fromEntries(Object.entries(metadata).filter(([field]) => !LEFT_OUT.has(field)));
  const { conditions: _, ...status } = isObject(rest.status) ? rest.status : {};
  const body = { metadata: meta, ...rest, ...(rest.status === undefined ? {} : { status }) };
  const lines = fieldLines(body, '');
  return (
    alignColumns(head, 1) +
    lines.map((line) => `${line}\n`).join('') +
    conditionTable(object, nowMs) +
    eventTable(events, nowMs)
  );
}

function pairs(label: string, map: Readonly<Record<string, string>>, between: string): [string, string][] {
  const entries = Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1));
  if (entries.length === 0) return [[label, '<none>']];
  return entries.map(([key, value], index) => [index === 0 ? label : '', `${key}${between}${value}`]);
}

function without(map: Readonly<Record<string, string>>, key: string): Readonly<Record<string, string>> {
  const { [key]: _, ...others } = map;
  return others;
}

function fieldLines(value: JsonObject, indent: string): string[] {
  const entries = Object.entries(value).filter(([, item]) => item !== undefined && item !== null);
  entries.sort(([a], [b]) => (label(a) < label(b) ? -1 : 1));
  const plain = entries.filter(([, item]) => typeof item !== 'object').map(([key]) => label(key).length);
  const width = Math.max(0, ...plain) + 1;
  return entries.flatMap(([key, item]) => {
    const name = `${indent}${label(key)}:`;
    if (isObject(item)) return Object.keys(item).length === 0 ? [name] : [name, ...fieldLines(item, `${indent}  `)];
    if (Array.isArray(item)) return [name, ...item.flatMap((one) => itemLines(one, `${indent}  `))];
    return [`${indent}${`${label(key)}:`.padEnd(width)}  ${oneLine(String(item))}`];
  });
}

function itemLines(item: unknown, indent: string): string[] {
  if (isObject(item)) return fieldLines(item, indent);
  return [indent + oneLine(typeof item === 'string' ? item : JSON.stringify(item))];
}

/** `hostName` → `Host Name`, `vcpus` → `Vcpus`, `guestID` → `Guest ID`. Keys that are not such words stay as they are. */
function label(field: string): string {
  if (!/^[a-z][A-Za-z0-9]*$/.test(field)) return field;
  const words = field.replace(/([a-z0-9])([A-Z])/g, '$1 $2').replace(/([A-Z]+)([A-Z][a-z])/g, '$1 $2');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function conditionTable(object: KubeObject, nowMs: number): string {
  const conditions = conditionsOf(object);
  if (conditions.length === 0) return '';
  const rows = conditions.map((c) => [c.type, c.status, c.reason, ageOf(c.since, nowMs), c.message]);
  return `Conditions:\n${indented([['Type', 'Status', 'Reason', 'Age', 'Message'], dashes(['Type', 'Status', 'Reason', 'Age', 'Message']), ...rows])}`;
}

function eventTable(events: readonly JsonObject[], nowMs: number): string {
  if (events.length === 0) return 'Events:   <none>\n';
  const when = (event: JsonObject) => String(event.lastTimestamp ?? event.eventTime ?? event.firstTimestamp ?? '');
  const rows = events
    .toSorted((a, b) => (when(a) < when(b) ? -1 : 1))
    .map((event) => {
      const count = typeof event.count === 'number' && event.count > 1 ? ` (x${event.count})` : '';
      const source = isObject(event.source) ? event.source.component : undefined;
      const from = event.reportingComponent || source || '';
      return [text(event.type), text(event.reason), ageOf(when(event), nowMs) + count, text(from), text(event.message)];
    });
  const headers = ['Type', 'Reason', 'Age', 'From', 'Message'];
  return `Events:\n${indented([headers, dashes(headers), ...rows])}`;
}

const text = (value: unknown) => (typeof value === 'string' ? value : '');
const dashes = (headers: readonly string[]) => headers.map((header) => '-'.repeat(header.length));

function indented(rows: readonly (readonly string[])[]): string {
  return alignColumns(
    rows.map((row) => row.map((cell) => (cell === '' ? '-' : cell))),
    2,
  ).replace(/^(?=.)/gm, '  ');
}

/** How long ago, in the words of kubectl. */
function ageOf(instant: string, nowMs: number): string {
  const ms = Date.parse(instant);
  return Number.isNaN(ms) ? '<unknown>' : humanDuration(nowMs - ms);
}
