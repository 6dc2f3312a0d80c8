import type { Event } from '../kinds/event.ts';
import type { Column } from './define-kind.ts';
import type { KubeObject } from './object.ts';

/** What kubectl prints of an Event, in the order it knows. `read` is the Event in its core form. */
export function eventColumns(read: (object: KubeObject) => Event): readonly Column[] {
  const column = (
    name: string,
    type: Column['type'],
    description: string,
    value: (event: Event) => string | number | undefined,
    priority = 0,
  ): Column => ({ name, type, description, priority, jsonPath: '', value: (object) => value(read(object)) });
  return [
    column('Last Seen', 'date', 'When it last happened.', lastSeen),
    column('Type', 'string', 'Normal or Warning.', ({ type }) => type),
    column('Reason', 'string', 'One word for what happened.', ({ reason }) => reason),
    column('Object', 'string', 'The object it is about.', target),
    column('Subobject', 'string', 'Which part of it.', ({ involvedObject }) => involvedObject.fieldPath, 1),
    column('Source', 'string', 'Who says so.', source, 1),
    column('Message', 'string', 'What happened, for people.', ({ message }) => message?.trim()),
    column('First Seen', 'date', 'When it first happened.', firstSeen, 1),
    column('Count', 'integer', 'How often it happened.', times, 1),
    { ...column('Name', 'string', 'The name of the Event.', ({ metadata }) => metadata.name, 1), format: 'name' },
  ];
}

const firstSeen = ({ firstTimestamp, eventTime }: Event) => firstTimestamp ?? eventTime ?? undefined;

function lastSeen(event: Event): string | undefined {
  if (event.series !== undefined) return event.series.lastObservedTime ?? undefined;
  return event.lastTimestamp ?? firstSeen(event);
}

function times({ count, series }: Event): number {
  return series === undefined ? (count ?? 1) : (series.count ?? 0);
}

function target({ involvedObject: { kind = '', name = '' } }: Event): string {
  return name === '' ? kind.toLowerCase() : `${kind.toLowerCase()}/${name}`;
}

function source({ source: { component = '', host = '' } = {}, reportingComponent, reportingInstance }: Event): string {
  const who = component === '' ? (reportingComponent ?? '') : component;
  const where = host === '' ? (reportingInstance ?? '') : host;
  return where === '' ? who : `${who}, ${where}`;
}
