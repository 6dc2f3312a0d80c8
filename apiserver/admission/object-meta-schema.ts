import type { Schema } from '../../resources/meta/schema.ts';

const text: Schema = { type: 'string', nullable: true };
const whole: Schema = { type: 'integer', format: 'int64', nullable: true };
const flag: Schema = { type: 'boolean', nullable: true };
const texts: Schema = { type: 'object', nullable: true, additionalProperties: text };

/** The fields of ObjectMeta, which no kind's schema repeats. Everything may be null, as Go decodes null to nothing. */
export const OBJECT_META: Schema = {
  type: 'object',
  nullable: true,
  properties: {
    name: text,
    generateName: text,
    namespace: text,
    selfLink: text,
    uid: text,
    resourceVersion: text,
    generation: whole,
    creationTimestamp: text,
    deletionTimestamp: text,
    deletionGracePeriodSeconds: whole,
    labels: texts,
    annotations: texts,
    finalizers: { type: 'array', nullable: true, items: text, 'x-kubernetes-list-type': 'set' },
    ownerReferences: {
      type: 'array',
      nullable: true,
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['uid'],
      items: {
        type: 'object',
        nullable: true,
        'x-kubernetes-map-type': 'atomic',
        properties: { apiVersion: text, kind: text, name: text, uid: text, controller: flag, blockOwnerDeletion: flag },
      },
    },
    managedFields: {
      type: 'array',
      nullable: true,
      items: {
        type: 'object',
        nullable: true,
        properties: {
          manager: text,
          operation: text,
          apiVersion: text,
          time: text,
          fieldsType: text,
          fieldsV1: { type: 'object', nullable: true, 'x-kubernetes-preserve-unknown-fields': true },
          subresource: text,
        },
      },
    },
  },
};
