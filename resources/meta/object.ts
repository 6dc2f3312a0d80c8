/** What every object carries. Times are RFC 3339 UTC, whole seconds; `resourceVersion` is a decimal string, opaque to clients. */
export interface ObjectMeta {
  name: string;
  generateName?: string;
  namespace?: string;
  uid: string;
  resourceVersion: string;
  generation?: number;
  creationTimestamp: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: OwnerReference[];
  /** Who owns which fields; kept by the server. */
  managedFields?: readonly ManagedFieldsEntry[];
}

/** The fields that one manager set by one operation. */
export interface ManagedFieldsEntry {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  readonly time?: string;
  readonly fieldsType: string;
  readonly fieldsV1: JsonObject;
  readonly subresource?: string;
}

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

/** Any object of any kind. */
export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  [field: string]: unknown;
}

/** A key among the objects of one kind: `namespace/name`, or `name` when cluster-scoped. */
export function objectKey(meta: { readonly name: string; readonly namespace?: string | undefined }): string {
  return meta.namespace === undefined ? meta.name : `${meta.namespace}/${meta.name}`;
}

/** The two halves of an `objectKey`. */
export function splitKey(key: string): { namespace?: string; name: string } {
  const slash = key.indexOf('/');
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

export type JsonObject = { [field: string]: unknown };

/** Whether a value is a JSON object (not null, not an array). */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value at a path of field names, or undefined where it ends early. */
export function valueAt(value: unknown, path: readonly string[]): unknown {
  let at = value;
  for (const field of path) {
    if (!isObject(at) || !Object.hasOwn(at, field)) return undefined;
    at = at[field];
  }
  return at;
}

/** A copy with another value at a path (`undefined` removes the field); objects on the way are copied, or made. */
export function withValueAt<T extends JsonObject>(object: T, [field, ...rest]: readonly string[], value: unknown): T {
  if (field === undefined) return object;
  const child = object[field];
  const next = rest.length === 0 ? value : withValueAt(isObject(child) ? child : {}, rest, value);
  if (next !== undefined) return { ...object, [field]: next };
  const { [field]: _, ...without } = object;
  return without as T;
}

/** Deep equality of JSON values; an undefined field equals an absent one. */
export function jsonEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((item, i) => jsonEqual(item, b[i]));
  if (!isObject(a) || !isObject(b)) return false;
  for (const key of Object.keys(a)) if (!jsonEqual(a[key], b[key])) return false;
  for (const key of Object.keys(b)) if (b[key] !== undefined && !Object.hasOwn(a, key)) return false;
  return true;
}
