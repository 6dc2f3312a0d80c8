import type { KubeObject } from '../../resources/meta/object.ts';

/** Objects that were sealed in the store, and the id of the key they were sealed with. */
const keys = new WeakMap<KubeObject, string>();

export function markSealedWith(object: KubeObject, keyId: string): void {
  keys.set(object, keyId);
}

/** The id of the key an object was sealed with; undefined where it was not, or was not read from the store. */
export const sealedWith = (object: KubeObject): string | undefined => keys.get(object);
