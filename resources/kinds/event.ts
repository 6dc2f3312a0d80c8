import { defineKind } from '../meta/define-kind.ts';
import type { KubeObject } from '../meta/object.ts';
import type { Schema } from '../meta/schema.ts';

export interface ObjectReference {
  apiVersion?: string;
  kind?: string;
  namespace?: string;
  name?: string;
  uid?: string;
  resourceVersion?: string;
  fieldPath?: string;
}

export interface Event extends KubeObject {
  involvedObject: ObjectReference;
  reason?: string;
  message?: string;
  type?: string;
  count?: number;
  firstTimestamp?: string;
  lastTimestamp?: string;
  eventTime?: string | null;
  reportingComponent?: string;
  reportingInstance?: string;
  source?: { component?: string; host?: string };
}

const text = (description: string): Schema => ({ type: 'string', description });
const time = (description: string): Schema => ({ type: 'string', format: 'date-time', nullable: true, description });

const reference: Schema = {
  type: 'object',
  description: 'The object an event is about.',
  properties: {
    apiVersion: text('Its API version.'),
    kind: text('Its kind.'),
    namespace: text('Its namespace.'),
    name: text('Its name.'),
    uid: text('Its uid.'),
    resourceVersion: text('Its version when it happened.'),
    fieldPath: text('Which part of it.'),
  },
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
  generations: false,
  expiresAfterMs: 3_600_000,
  schema: {
    type: 'object',
    description: 'Something that happened to an object.',
    required: ['involvedObject'],
    properties: {
      involvedObject: reference,
      reason: text('One word for what happened.'),
      message: text('The same for people.'),
      type: text('Normal or Warning.'),
      count: { type: 'integer', format: 'int32', description: 'How often it happened.' },
      firstTimestamp: time('When it first happened.'),
      lastTimestamp: time('When it last happened.'),
      eventTime: time('When it happened.'),
      action: text('What was tried.'),
      reportingComponent: text('Who says so.'),
      reportingInstance: text('Which one of them.'),
      source: {
        type: 'object',
        description: 'Who says so, in the older form.',
        properties: { component: text('The component.'), host: text('Where it runs.') },
      },
      related: { ...reference, description: 'Another object it is about.' },
      series: {
        type: 'object',
        description: 'Repetitions.',
        properties: {
          count: { type: 'integer', format: 'int32', description: 'How many.' },
          lastObservedTime: time('The last.'),
        },
      },
    },
  },
  columns: [
    { name: 'Last Seen', type: 'date', jsonPath: '.lastTimestamp' },
    { name: 'Type', type: 'string', jsonPath: '.type' },
    { name: 'Reason', type: 'string', jsonPath: '.reason' },
    { name: 'Object', type: 'string', jsonPath: '.involvedObject.name' },
    { name: 'Kind', type: 'string', jsonPath: '.involvedObject.kind', priority: 1 },
    { name: 'Count', type: 'integer', jsonPath: '.count', priority: 1 },
    { name: 'Message', type: 'string', jsonPath: '.message' },
  ],
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
});
