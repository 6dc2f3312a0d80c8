import { eventCauses, strictEventCauses } from '../guards/event-causes.ts';
import { defineKind } from '../meta/define-kind.ts';
import { eventColumns } from '../meta/event-columns.ts';
import type { KubeObject } from '../meta/object.ts';
import { OBJECT_REFERENCE } from '../meta/object-reference.ts';
import type { Schema } from '../meta/schema.ts';
import { EVENT_SOURCE, Event, eventTime } from './event.ts';

const API_VERSION = 'events.k8s.io/v1';

const text = (description: string): Schema => ({ type: 'string', description });

/** How fields of the core Event are called here. */
const NAMES = [
  ['involvedObject', 'regarding'],
  ['message', 'note'],
  ['reportingComponent', 'reportingController'],
  ['source', 'deprecatedSource'],
  ['firstTimestamp', 'deprecatedFirstTimestamp'],
  ['lastTimestamp', 'deprecatedLastTimestamp'],
  ['count', 'deprecatedCount'],
] as const;

const TO_HERE: ReadonlyMap<string, string> = new Map(NAMES);
const TO_CORE: ReadonlyMap<string, string> = new Map(NAMES.map(([core, here]) => [here, core]));

function renamed(object: KubeObject, apiVersion: string, names: ReadonlyMap<string, string>): KubeObject {
  const { apiVersion: _, kind, metadata, ...rest } = object;
  const fields = Object.entries(rest).map(([name, value]) => [names.get(name) ?? name, value]);
  return { apiVersion, kind, metadata, ...Object.fromEntries(fields) };
}

function show(object: KubeObject): KubeObject {
  const { reportingController, reportingInstance, ...rest } = renamed(object, API_VERSION, TO_HERE);
  return {
    ...rest,
    ...(reportingController === '' ? {} : { reportingController }),
    ...(reportingInstance === '' ? {} : { reportingInstance }),
  } as KubeObject;
}

function keep(object: KubeObject): Event {
  return { reportingComponent: '', reportingInstance: '', ...renamed(object, 'v1', TO_CORE) } as Event;
}

/** The Event of events.k8s.io/v1: another view of the core Events, with stricter rules for what is made through it. */
export const EventsEvent = defineKind<KubeObject>({
  group: 'events.k8s.io',
  version: 'v1',
  kind: 'Event',
  plural: 'events',
  shortNames: ['ev'],
  namespaced: true,
  origin: 'core',
  struct: true,
  generations: false,
  view: { of: Event, show, keep },
  schema: {
    type: 'object',
    description: 'Something that happened to an object.',
    properties: {
      eventTime: eventTime('When it first happened.', true),
      series: {
        type: 'object',
        description: 'Repetitions.',
        properties: {
          count: { type: 'integer', format: 'int32', default: 0, description: 'How many.' },
          lastObservedTime: eventTime('The last.', true),
        },
      },
      reportingController: text('Who says so.'),
      reportingInstance: text('Which one of them.'),
      action: text('What was tried.'),
      reason: text('One word for what happened.'),
      regarding: { ...OBJECT_REFERENCE, default: {}, description: 'The object it is about.' },
      related: { ...OBJECT_REFERENCE, description: 'Another object it is about.' },
      note: text('What happened, for people.'),
      type: text('Normal or Warning.'),
      deprecatedSource: EVENT_SOURCE,
      deprecatedFirstTimestamp: eventTime('When it first happened, in the older form.'),
      deprecatedLastTimestamp: eventTime('When it last happened, in the older form.'),
      deprecatedCount: { type: 'integer', format: 'int32', description: 'How often it happened, in the older form.' },
    },
  },
  nameColumn: false,
  ageColumn: false,
  columns: eventColumns(keep),
  selectableFields: [
    'regarding.kind',
    'regarding.namespace',
    'regarding.name',
    'regarding.uid',
    'regarding.apiVersion',
    'regarding.resourceVersion',
    'regarding.fieldPath',
    'reason',
    'type',
    'reportingController',
  ],
  rules: {
    causes(object, previous) {
      const event = keep(object);
      return [...eventCauses(event), ...strictEventCauses(event, previous && keep(previous))];
    },
  },
});
