import { isObject, type JsonObject, jsonEqual } from '../../resources/meta/object.ts';
import { type FieldSet, FieldSetBuilder } from './field-set.ts';
import { identified } from './list-items.ts';
import { type Form, fieldType, formOf, type ListType, type MapType, type MergeType } from './merge-type.ts';
import { fieldElement, type PathElement } from './path-element.ts';

/** How one value became another: no path is in more than one set. */
export interface Comparison {
  readonly added: FieldSet;
  /** In both, but different. */
  readonly modified: FieldSet;
  readonly removed: FieldSet;
}

/** Compares two values of one type. Parts that are the same value in memory are not looked into. */
export function compare(before: unknown, after: unknown, type: MergeType): Comparison {
  const found: Found = {
    added: new FieldSetBuilder(),
    modified: new FieldSetBuilder(),
    removed: new FieldSetBuilder(),
  };
  walk(found, before, after, type, []);
  return { added: found.added.set, modified: found.modified.set, removed: found.removed.set };
}

interface Found {
  readonly added: FieldSetBuilder;
  readonly modified: FieldSetBuilder;
  readonly removed: FieldSetBuilder;
}

type Path = readonly PathElement[];

function walk(found: Found, before: unknown, after: unknown, type: MergeType, path: Path): void {
  if (before === after) return;
  const now = formOf(type, after ?? before);
  const then = formOf(type, before ?? after);
  // A value that changed its form, where no schema forbids it, is looked at as both.
  if (then.form !== now.form) step(found, before, after, then, path);
  const leaf = step(found, before, after, now, path);
  if (leaf) return;
  if (before === undefined) found.added.add(path);
  else if (after === undefined) found.removed.add(path);
}

/** Compares by one form. Answers whether the value was taken as a whole. */
function step(found: Found, before: unknown, after: unknown, form: Form, path: Path): boolean {
  if (form.form === 'scalar') return whole(found, before, after, path);
  if (form.form === 'map') {
    const [left, right] = [isObject(before) ? before : {}, isObject(after) ? after : {}];
    const empty = Object.keys(left).length === 0 && Object.keys(right).length === 0;
    if (form.type.atomic || empty) return whole(found, before, after, path);
    maps(found, left, right, form.type, path);
    return false;
  }
  const [left, right] = [Array.isArray(before) ? before : [], Array.isArray(after) ? after : []];
  if (form.type.relation === 'atomic' || (left.length === 0 && right.length === 0))
    return whole(found, before, after, path);
  lists(found, left, right, form.type, path);
  return false;
}

function whole(found: Found, before: unknown, after: unknown, path: Path): true {
  if (before === undefined) found.added.add(path);
  else if (after === undefined) found.removed.add(path);
  else if (!jsonEqual(before, after)) found.modified.add(path);
  return true;
}

function maps(found: Found, before: JsonObject, after: JsonObject, map: MapType, path: Path): void {
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const type = fieldType(map, name);
    const [left, right] = [own(before, name), own(after, name)];
    if (type !== undefined && left !== right) walk(found, left, right, type, [...path, fieldElement(name)]);
  }
}

const own = (object: JsonObject, name: string): unknown => (Object.hasOwn(object, name) ? object[name] : undefined);

function lists(found: Found, before: readonly unknown[], after: readonly unknown[], list: ListType, path: Path): void {
  const left = grouped(list, before);
  const right = grouped(list, after);
  for (const element of new Set([...left.keys(), ...right.keys()])) {
    const at = [...path, element];
    const [had, has] = [left.get(element) ?? [], right.get(element) ?? []];
    if (had.length <= 1 && has.length <= 1) walk(found, had[0], has[0], list.element, at);
    else if (had.length >= 2 && has.length >= 2) {
      if (!jsonEqual(had, has)) found.modified.add(at);
    } else if (had.length >= 2) {
      if (has.length > 0) walk(found, undefined, has[0], list.element, at);
      found.removed.add(at);
    } else {
      if (had.length > 0) walk(found, had[0], undefined, list.element, at);
      found.added.add(at);
    }
  }
}

function grouped(list: ListType, items: readonly unknown[]): Map<PathElement, unknown[]> {
  const groups = new Map<PathElement, unknown[]>();
  for (const [element, item] of identified(list, items)) {
    const group = groups.get(element);
    if (group === undefined) groups.set(element, [item]);
    else group.push(item);
  }
  return groups;
}
