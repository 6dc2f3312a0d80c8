import { eventCauses } from '../guards/event-causes.ts';
import { defineKind } from '../meta/define-kind.ts';
import { eventColumns } from '../meta/event-columns.ts';
import type { KubeObject } from '../meta/object.ts';
import { OBJECT_REFERENCE, type ObjectReference } from '../meta/object-reference.ts';
import type { Schema } from '../meta/schema.ts';

export interface Event extends KubeObject {
  involvedObject: ObjectReference;
  reason?: string;
  message?: string;
  type?: string;
  count?: number;
  firstTimestamp?: string | null;
  lastTimestamp?: string | null;
  eventTime?: string | null;
  action?: string;
  reportingComponent?: string;
  reportingInstance?: string;
  source?: { component?: string; host?: string };
  related?: ObjectReference;
  series?: { count?: number; lastObservedTime?: string | null };
}

const text = (description: string): Schema => ({ type: 'string', description });
const always = (description: string): Schema => ({ type: 'string', default: '', description });

/** A time that is told even when there is none. */
export const eventTime = (description: string, micro = false): Schema => ({
  type: 'string',
  format: 'date-time',
  nullable: true,
  default: null,
  ...(micro ? { 'x-coppice-micro-time': true as const } : {}),
  description,
});

/** Who says so, in the older form. */
export const EVENT_SOURCE: Schema = {
  type: 'object',
  default: {},
  description: 'Who says so, in the older form.',
  properties: { component: text('The component.'), host: text('Where it runs.') },
};

/** The core Event (k8s.io/api/core/v1): something that happened to an object. Kept for an hour. */
export const Event = defineKind<Event>({
  group: '',
  version: 'v1',
  kind: 'Event',
  plural: 'events',
  shortNames: ['ev'],
  namespaced: true,
  origin: 'core',
  struct: true,
  generations: false,
  nameRule: 'segment',
  expiresAfterMs: 3_600_000,
  schema: {
    type: 'object',
    description: 'Something that happened to an object.',
    properties: {
      involvedObject: { ...OBJECT_REFERENCE, default: {}, description: 'The object it is about.' },
      reason: text('One word for what happened.'),
      message: text('The same for people.'),
      type: text('Normal or Warning.'),
      count: { type: 'integer', format: 'int32', description: 'How often it happened.' },
      firstTimestamp: eventTime('When it first happened.'),
      lastTimestamp: eventTime('When it last happened.'),
      eventTime: eventTime('When it happened.', true),
      action: text('What was tried.'),
      reportingComponent: always('Who says so.'),
      reportingInstance: always('Which one of them.'),
      source: EVENT_SOURCE,
      related: { ...OBJECT_REFERENCE, description: 'Another object it is about.' },
      series: {
        type: 'object',
        description: 'Repetitions.',
        properties: {
          count: { type: 'integer', format: 'int32', description: 'How many.' },
          lastObservedTime: eventTime('The last.', true),
        },
      },
    },
  },
  nameColumn: false,
  ageColumn: false,
  columns: eventColumns((object) => object as Event),
  selectableFields: [
    'involvedObject.kind',
    'involvedObject.namespace',
    'involvedObject.name',
    'involvedObject.uid',
    'involvedObject.apiVersion',
    'involvedObject.resourceVersion',
    'involvedObject.fieldPath',
    'reason',
    'type',
    'reportingComponent',
    'source',
  ],
  selectablePaths: { source: ['source.component', 'reportingComponent'] },
  rules: { causes: eventCauses },
});
