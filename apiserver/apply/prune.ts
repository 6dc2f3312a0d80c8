import { setOwn } from '../../resources/meta/json-reader.ts';
import { isObject, type JsonObject } from '../../resources/meta/object.ts';
import { difference, type FieldSet, intersection, isEmpty, node, union } from './field-set.ts';
import { elementOf } from './list-items.ts';
import { fieldType, formOf, type ListType, type MapType, type MergeType } from './merge-type.ts';
import { fieldElement, fieldName, type PathElement } from './path-element.ts';
import { toFieldSet } from './to-field-set.ts';

/**
 * The merged object without what its applier owned at the last time, does not name now, and nobody else owns. `owned` is all that anybody
 * owns, the applier's new fields among it. What nobody owned stays, also below a field that was the applier's.
 */
export function prune(merged: JsonObject, last: FieldSet, owned: FieldSet, type: MergeType): JsonObject {
  if (isEmpty(last)) return merged;
  const lastNamed = withNamedFields(last, type);
  const all = withNamedFields(toFieldSet(merged, type), type);
  const bare = removeFields(merged, lastNamed, type);
  const kept = union(withNamedFields(toFieldSet(bare, type), type), withNamedFields(owned, type));
  const unowned = difference(all, kept);
  if (isEmpty(unowned)) return merged;
  const owners = removeFields(merged, unowned, type);
  const gone = difference(all, withNamedFields(toFieldSet(owners, type), type));
  return objectOf(removeFields(merged, intersection(gone, lastNamed), type));
}

const objectOf = (value: unknown): JsonObject => (isObject(value) ? value : {});

/** With the named fields that hold others as members too: a set says only of free maps and lists that they are there. Shares what stays. */
export function withNamedFields(set: FieldSet, type: MergeType | undefined): FieldSet {
  if (set.children.size === 0) return set;
  let children: Map<PathElement, FieldSet> | undefined;
  for (const [element, child] of set.children) {
    const name = fieldName(element);
    const inner = withNamedFields(
      child,
      name === undefined ? type?.list?.element : type?.map && fieldType(type.map, name),
    );
    const named = name !== undefined && child.children.size > 0 && type?.map?.fields.has(name) === true;
    if (inner === child && (child.member || !named)) continue;
    children ??= new Map(set.children);
    children.set(element, node(child.member || named, inner.children));
  }
  return children === undefined ? set : node(set.member, children);
}

/** A value without these fields and items; undefined when nothing of it is left. */
function removeFields(value: unknown, fields: FieldSet, type: MergeType): unknown {
  const at = formOf(type, value ?? null);
  if (at.form === 'map') return isObject(value) && !at.type.atomic ? fromMap(value, fields, at.type) : undefined;
  if (at.form === 'list')
    return Array.isArray(value) && at.type.relation !== 'atomic' ? fromList(value, fields, at.type) : undefined;
  return value;
}

function fromMap(value: JsonObject, fields: FieldSet, map: MapType): JsonObject | undefined {
  const rest: JsonObject = {};
  for (const [name, field] of Object.entries(value)) {
    const below = fields.children.get(fieldElement(name));
    const type = fieldType(map, name);
    if (below?.member === true) continue;
    const left = below === undefined || type === undefined ? field : removeFields(field, below, type);
    // A named field that lost all it held is still there, and null: nobody asked for it to go.
    setOwn(rest, name, left === undefined ? null : left);
  }
  return Object.keys(rest).length === 0 ? undefined : rest;
}

function fromList(value: readonly unknown[], fields: FieldSet, list: ListType): unknown[] | undefined {
  const rest: unknown[] = [];
  for (const item of value) {
    const below = fields.children.get(elementOf(list, item) ?? '');
    if (below?.member === true) continue;
    rest.push(below === undefined ? item : (removeFields(item, below, list.element) ?? null));
  }
  return rest.length === 0 ? undefined : rest;
}
