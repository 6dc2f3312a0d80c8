import type { Kind } from '../../resources/meta/define-kind.ts';
import {
  isObject,
  type JsonObject,
  jsonEqual,
  type KubeObject,
  type ManagedFieldsEntry,
} from '../../resources/meta/object.ts';
import { apiVersionOf } from '../../resources/meta/resource-id.ts';
import { compare } from './compare.ts';
import { EMPTY, isEmpty, sameSet, union } from './field-set.ts';
import {
  capped,
  isReset,
  type ManagerId,
  type Managers,
  managerKey,
  readManagers,
  storedManagers,
  writeManagers,
} from './managed-fields.ts';
import { mergeTypeOf } from './merge-type.ts';
import { underSchema } from './schema-change.ts';
import { afterChange, ignoredFields, tracked, withoutFields } from './take-over.ts';

/** Who writes, by which route, and when. */
export interface Writer {
  readonly kind: Kind;
  readonly manager: string;
  readonly subresource: string | undefined;
  /** RFC 3339, whole seconds. */
  readonly now: string;
}

/**
 * The managedFields of an object after a write that is not an apply: what changed is the writer's, and nobody else's any more. An object
 * that has no record stays without one until it is applied, but for one that is created. `sent` is what the writer gave as
 * managedFields: it replaces the record when it can be read, and begins a new one when it is empty.
 */
export function afterUpdate(
  writer: Writer,
  before: KubeObject | undefined,
  after: KubeObject,
  sent: unknown,
): readonly ManagedFieldsEntry[] | undefined {
  const standing = standingManagers(writer, before, sent);
  const managers = underSchema(writer.kind, standing);
  if (managers.size === 0 && before !== undefined) return undefined;
  const next = changed(writer, managers, before, after);
  const live = before?.metadata.managedFields;
  return standing === storedManagers(live) && areSame(standing, next) ? live : writeManagers(next);
}

/** Whether all of them are the very ones that were there, as they are in writes of the same fields within a second. */
function areSame(before: Managers, after: Managers): boolean {
  if (before.size !== after.size) return false;
  for (const [key, manager] of after) if (before.get(key) !== manager) return false;
  return true;
}

/** Only whole objects may bring a record with them; writes of a part leave it alone. */
function standingManagers({ subresource }: Writer, before: KubeObject | undefined, sent: unknown): Managers {
  const live = before?.metadata.managedFields;
  if (subresource !== undefined || (live !== undefined && jsonEqual(sent, live))) return storedManagers(live);
  if (isReset(sent)) return new Map();
  const given = readManagers(sent);
  return given === undefined || given.size === 0 ? storedManagers(live) : given;
}

/** The managers once the writer has made `after` of `before`. */
export function changed(
  { kind, manager, subresource, now }: Writer,
  managers: Managers,
  before: JsonObject | undefined,
  after: JsonObject,
): Managers {
  const id: ManagerId = {
    manager,
    operation: 'Update',
    apiVersion: apiVersionOf(kind),
    ...(subresource === undefined ? {} : { subresource }),
  };
  const whole = compare(withoutRecord(before ?? {}), withoutRecord(after), mergeTypeOf(kind));
  const comparison = withoutFields(whole, ignoredFields(kind, subresource));
  const left = afterChange(managers, '', comparison);
  const set = tracked(union(comparison.modified, comparison.added));
  if (isEmpty(set)) return left;
  const key = managerKey(id);
  const owned = union(left.get(key)?.set ?? EMPTY, set);
  const had = managers.get(key);
  // Whoever writes a field again owns what it owned: the same set is not written out anew, nor is what is of the same second.
  const isSame = had !== undefined && sameSet(had.set, owned);
  left.set(key, isSame && had.time === now ? had : { ...id, set: isSame ? had.set : owned, time: now });
  return capped(left);
}

/** An object without the record itself, which is about it and no part of it. */
export function withoutRecord(object: JsonObject): JsonObject {
  if (!isObject(object.metadata) || object.metadata.managedFields === undefined) return object;
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}
