import { isObject, type JsonObject } from '../../resources/meta/object.ts';
import { EMPTY, type FieldSet, node } from './field-set.ts';
import { identified } from './list-items.ts';
import { fieldType, formOf, type ListType, type MapType, type MergeType } from './merge-type.ts';
import { fieldElement, type PathElement } from './path-element.ts';

/**
 * The fields that a value holds: scalars, atomic lists and maps, nulls, empty maps, items of lists, entries of free maps. A named field
 * that holds others is not one itself.
 */
export function toFieldSet(value: unknown, type: MergeType): FieldSet {
  if (value === undefined) return EMPTY;
  const at = formOf(type, value);
  switch (at.form) {
    case 'map':
      if (at.type.atomic) return node(true, new Map());
      return isObject(value) ? ofMap(value, at.type) : EMPTY;
    case 'list':
      if (at.type.relation === 'atomic') return node(true, new Map());
      return Array.isArray(value) ? ofList(value, at.type) : EMPTY;
    case 'scalar':
      return node(true, new Map());
    default:
      throw new Error(`unhandled form ${at satisfies never}`);
  }
}

function ofMap(value: JsonObject, map: MapType): FieldSet {
  const children = new Map<PathElement, FieldSet>();
  for (const [name, field] of Object.entries(value)) {
    const type = fieldType(map, name);
    if (type === undefined || field === undefined) continue;
    const inner = toFieldSet(field, type);
    const empty = field === null || (isObject(field) && Object.keys(field).length === 0);
    const member = inner.member || empty || !map.fields.has(name);
    if (member || inner.children.size > 0) children.set(fieldElement(name), node(member, inner.children));
  }
  return node(false, children);
}

/** Items that are there twice, which only old data can hold, are members as a whole. */
function ofList(value: readonly unknown[], list: ListType): FieldSet {
  const children = new Map<PathElement, FieldSet>();
  for (const [element, item] of identified(list, value)) {
    const inner = children.has(element) ? EMPTY : toFieldSet(item, list.element);
    children.set(element, node(true, inner.children));
  }
  return node(false, children);
}
