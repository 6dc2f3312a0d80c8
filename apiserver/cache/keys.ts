import { objectKey } from '../../resources/meta/object.ts';
import { resourceId } from '../../resources/meta/resource-id.ts';

interface Resource {
  readonly group: string;
  readonly plural: string;
}

const ROOT = 'objects/';

/** Where the objects of a resource stand in the store. */
export function resourcePrefix(resource: Resource): string {
  return joinStoreKey(resourceId(resource), '');
}

/** The store key of an object key under a resource id. */
export function joinStoreKey(resourceId: string, objectKey: string): string {
  return `${ROOT}${resourceId}/${objectKey}`;
}

/** Where one object stands: `objects/coppice.dev/vms/acme/build-1`, `objects/core/namespaces/acme`. */
export function storeKey(resource: Resource, namespace: string | undefined, name: string): string {
  return resourcePrefix(resource) + objectKey({ name, namespace });
}

/** The resource id and object key of a store key, or undefined when it is not an object's. */
export function parseStoreKey(key: string): { readonly resourceId: string; readonly objectKey: string } | undefined {
  if (!key.startsWith(ROOT)) return undefined;
  const group = key.indexOf('/', ROOT.length);
  const plural = group < 0 ? -1 : key.indexOf('/', group + 1);
  if (plural < 0) return undefined;
  return { resourceId: key.slice(ROOT.length, plural), objectKey: key.slice(plural + 1) };
}
