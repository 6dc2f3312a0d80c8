import { isObject, type JsonObject, jsonEqual } from '../../resources/meta/object.ts';
import { EMPTY, type FieldSet, type GrowingSet } from './field-set.ts';
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
  const root = new Spot(undefined, '');
  walk(root, before, after, type);
  return { added: root.set('added'), modified: root.set('modified'), removed: root.set('removed') };
}

type Sort = keyof Comparison;

/** A place that is compared. It is in a set only once something was found there, or below. */
class Spot {
  readonly #above: Spot | undefined;
  readonly #element: PathElement;
  readonly #nodes: { added?: GrowingSet; modified?: GrowingSet; removed?: GrowingSet } = {};

  constructor(above: Spot | undefined, element: PathElement) {
    this.#above = above;
    this.#element = element;
  }

  below(element: PathElement): Spot {
    return new Spot(this, element);
  }

  /** The whole object is not tracked. */
  mark(sort: Sort): void {
    if (this.#above !== undefined) this.#node(sort).member = true;
  }

  set(sort: Sort): FieldSet {
    return this.#nodes[sort] ?? EMPTY;
  }

  #node(sort: Sort): GrowingSet {
    const known = this.#nodes[sort];
    if (known !== undefined) return known;
    const above = this.#above;
    const siblings = above === undefined ? undefined : above.#node(sort).children;
    const node = siblings?.get(this.#element) ?? { member: false, children: new Map<PathElement, GrowingSet>() };
    siblings?.set(this.#element, node);
    this.#nodes[sort] = node;
    return node;
  }
}

function walk(at: Spot, before: unknown, after: unknown, type: MergeType): void {
  if (before === after) return;
  const now = formOf(type, after ?? before);
  const then = formOf(type, before ?? after);
  // A value that changed its form, where no schema forbids it, is looked at as both.
  if (then.form !== now.form) step(at, before, after, then);
  const leaf = step(at, before, after, now);
  if (leaf) return;
  if (before === undefined) at.mark('added');
  else if (after === undefined) at.mark('removed');
}

/** Compares by one form. Answers whether the value was taken as a whole. */
function step(at: Spot, before: unknown, after: unknown, form: Form): boolean {
  if (form.form === 'scalar') return whole(at, before, after);
  if (form.form === 'map') {
    const [left, right] = [isObject(before) ? before : {}, isObject(after) ? after : {}];
    const empty = Object.keys(left).length === 0 && Object.keys(right).length === 0;
    if (form.type.atomic || empty) return whole(at, before, after);
    maps(at, left, right, form.type);
    return false;
  }
  const [left, right] = [Array.isArray(before) ? before : [], Array.isArray(after) ? after : []];
  if (form.type.relation === 'atomic' || (left.length === 0 && right.length === 0)) return whole(at, before, after);
  lists(at, left, right, form.type);
  return false;
}

function whole(at: Spot, before: unknown, after: unknown): true {
  if (before === undefined) at.mark('added');
  else if (after === undefined) at.mark('removed');
  else if (!jsonEqual(before, after)) at.mark('modified');
  return true;
}

function maps(at: Spot, before: JsonObject, after: JsonObject, map: MapType): void {
  for (const name of Object.keys(before)) field(at, name, before[name], own(after, name), map);
  for (const name of Object.keys(after)) if (!Object.hasOwn(before, name)) field(at, name, undefined, after[name], map);
}

function field(at: Spot, name: string, before: unknown, after: unknown, map: MapType): void {
  if (before === after) return;
  const type = fieldType(map, name);
  if (type !== undefined) walk(at.below(fieldElement(name)), before, after, type);
}

const own = (object: JsonObject, name: string): unknown => (Object.hasOwn(object, name) ? object[name] : undefined);

function lists(above: Spot, before: readonly unknown[], after: readonly unknown[], list: ListType): void {
  const left = grouped(list, before);
  const right = grouped(list, after);
  for (const element of new Set([...left.keys(), ...right.keys()])) {
    const at = above.below(element);
    const [had, has] = [left.get(element) ?? NO_ITEMS, right.get(element) ?? NO_ITEMS];
    if (had.length <= 1 && has.length <= 1) walk(at, had[0], has[0], list.element);
    else if (had.length >= 2 && has.length >= 2) {
      if (!jsonEqual(had, has)) at.mark('modified');
    } else if (had.length >= 2) {
      if (has.length > 0) walk(at, undefined, has[0], list.element);
      at.mark('removed');
    } else {
      if (had.length > 0) walk(at, had[0], undefined, list.element);
      at.mark('added');
    }
  }
}

const NO_ITEMS: readonly unknown[] = [];

function grouped(list: ListType, items: readonly unknown[]): Map<PathElement, unknown[]> {
  const groups = new Map<PathElement, unknown[]>();
  for (const [element, item] of identified(list, items)) {
    const group = groups.get(element);
    if (group === undefined) groups.set(element, [item]);
    else group.push(item);
  }
  return groups;
}
