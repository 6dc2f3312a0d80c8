import { ApiError, qualified, type ResourceName } from '../../resources/meta/api-error.ts';
import type { KubeObject } from '../../resources/meta/object.ts';

/** Objects that stand for what could not be read, and why. */
const damage = new WeakMap<KubeObject, string>();

/** Marks an object that stands for one whose value cannot be read. */
export function markDamaged(object: KubeObject, why: string): void {
  damage.set(object, why);
}

export const isDamaged = (object: KubeObject): boolean => damage.has(object);

/** Throws an `InternalError` that names an object whose value cannot be read. It can still be deleted. */
export function assertReadable(resource: ResourceName, object: KubeObject): void {
  const why = damage.get(object);
  if (why === undefined) return;
  const { namespace, name } = object.metadata;
  const which = `${qualified(resource)} "${namespace === undefined ? name : `${namespace}/${name}`}"`;
  throw new ApiError('InternalError', `${which} cannot be read: ${why}; it can only be deleted`, {
    details: { name, ...(resource.group === '' ? {} : { group: resource.group }), kind: resource.plural },
  });
}
