import type { Event } from '../kinds/event.ts';
import type { Cause } from '../meta/api-error.ts';
import { invalidField, requiredField } from '../meta/field-causes.ts';
import { qualifiedNameProblems } from '../meta/names.ts';
import { jsonEqual } from '../meta/object.ts';

const MAX_WORD = 128;
const MAX_NOTE = 1024;

/** Namespaces in which Events about objects without a namespace are. */
const CLUSTER_EVENTS = ['default', 'kube-system'];

/** What is wrong with an Event however it was sent (k8s.io/kubernetes, validation of core Events). */
export function eventCauses(event: Event): Cause[] {
  return isNewForm(event) ? newFormCauses(event) : namespaceCauses(event, ['default']);
}

/** What an Event of events.k8s.io/v1 must be on top of that. */
export function strictEventCauses(event: Event, previous: Event | undefined): Cause[] {
  if (previous === undefined) return strictCreateCauses(event);
  const series = jsonEqual(event.series, previous.series) ? [] : seriesCauses(event);
  const changed = FIXED.filter((field) => !jsonEqual(event[field], previous[field]));
  return [...series, ...changed.map((field) => invalidField(field, event[field] ?? '', 'field is immutable'))];
}

const FIXED = [
  'involvedObject',
  'reason',
  'message',
  'source',
  'firstTimestamp',
  'lastTimestamp',
  'count',
  'type',
  'eventTime',
  'action',
  'related',
  'reportingComponent',
  'reportingInstance',
] as const;

const isNewForm = ({ eventTime }: Event) => (eventTime ?? null) !== null;

function namespaceCauses({ involvedObject, metadata }: Event, withoutOne: readonly string[]): Cause[] {
  const { namespace = '' } = involvedObject;
  const own = metadata.namespace ?? '';
  const right = namespace === '' ? withoutOne.includes(own) : namespace === own;
  return right ? [] : [invalidField('involvedObject.namespace', namespace, 'does not match event.namespace')];
}

function newFormCauses(event: Event): Cause[] {
  const { reportingComponent = '', reportingInstance = '', action = '', reason = '', message = '' } = event;
  return [
    ...((event.involvedObject.namespace ?? '') === '' ? namespaceCauses(event, CLUSTER_EVENTS) : []),
    ...(reportingComponent === '' ? [requiredField('reportingComponent')] : []),
    ...qualifiedNameProblems(reportingComponent).map((why) =>
      invalidField('reportingComponent', reportingComponent, why),
    ),
    ...wordCauses('reportingInstance', reportingInstance),
    ...wordCauses('action', action),
    ...wordCauses('reason', reason),
    ...lengthCauses('message', message, MAX_NOTE),
  ];
}

const wordCauses = (field: string, text: string) =>
  text === '' ? [requiredField(field)] : lengthCauses(field, text, MAX_WORD);

function lengthCauses(field: string, text: string, limit: number): Cause[] {
  const bytes = new TextEncoder().encode(text).length;
  return bytes > limit ? [invalidField(field, '', `can have at most ${limit} characters`)] : [];
}

function strictCreateCauses(event: Event): Cause[] {
  const { type = '', firstTimestamp, lastTimestamp, count = 0, source = {} } = event;
  const set = {
    firstTimestamp: (firstTimestamp ?? null) !== null,
    lastTimestamp: (lastTimestamp ?? null) !== null,
    count: count !== 0,
    source: (source.component ?? '') !== '' || (source.host ?? '') !== '',
  };
  return [
    ...seriesCauses(event),
    ...(isNewForm(event) ? [] : [requiredField('eventTime')]),
    ...(type === 'Normal' || type === 'Warning' ? [] : [invalidField('type', '', `has invalid value: ${type}`)]),
    ...Object.entries(set).flatMap(([field, is]) => (is ? [invalidField(field, '', 'needs to be unset')] : [])),
  ];
}

function seriesCauses({ series }: Event): Cause[] {
  if (series === undefined) return [];
  return [
    ...((series.count ?? 0) < 2 ? [invalidField('series.count', '', 'should be at least 2')] : []),
    ...((series.lastObservedTime ?? null) === null ? [requiredField('series.lastObservedTime')] : []),
  ];
}
