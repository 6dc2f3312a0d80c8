import type { KubeObject } from '../meta/object.ts';

/**
 * The object with the finalizer, while it is not being deleted. Not at its creation only: a client that replaces an object with what it has in a file would
 * take it off unknowingly, and what the finalizer stands for would be left behind when the object goes. Once it is being deleted, an operator may.
 */
export function holding<T extends KubeObject>(object: T, finalizer: string): T {
  const { deletionTimestamp, finalizers = [] } = object.metadata;
  if (deletionTimestamp !== undefined || finalizers.includes(finalizer)) return object;
  return { ...object, metadata: { ...object.metadata, finalizers: [...finalizers, finalizer] } };
}
