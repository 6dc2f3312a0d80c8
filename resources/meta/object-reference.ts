import type { Schema } from './schema.ts';

/** A pointer to an object (k8s.io/api/core/v1, ObjectReference). */
export interface ObjectReference {
  apiVersion?: string;
  kind?: string;
  namespace?: string;
  name?: string;
  uid?: string;
  resourceVersion?: string;
  fieldPath?: string;
}

const text = (description: string): Schema => ({ type: 'string', description });

/** The schema of a reference. */
export const OBJECT_REFERENCE: Schema = {
  type: 'object',
  properties: {
    apiVersion: text('Its API version.'),
    kind: text('Its kind.'),
    namespace: text('Its namespace.'),
    name: text('Its name.'),
    uid: text('Its uid.'),
    resourceVersion: text('Its version at that time.'),
    fieldPath: text('Which part of it.'),
  },
};
