import type { KubeObject } from '../../resources/meta/object.ts';

/** An object as people read it: without the record of who set which field, which is longer than the object itself. */
export function withoutManagedFields(object: KubeObject): KubeObject {
  if (object.metadata.managedFields === undefined) return object;
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}
