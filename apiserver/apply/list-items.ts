import { isObject, type JsonObject } from '../../resources/meta/object.ts';
import type { ListType } from './merge-type.ts';
import { keyElement, type PathElement, valueElement } from './path-element.ts';

/** What identifies an item of a set or of a list by keys. Throws `ItemError` for an item that cannot be in such a list. */
export function itemElement(list: ListType, item: unknown): PathElement {
  const element = elementOrFault(list, item);
  if (typeof element !== 'string') throw new ItemError(element.fault);
  return element;
}

/** The same; undefined for an item that cannot be in such a list. */
export function elementOf(list: ListType, item: unknown): PathElement | undefined {
  const element = elementOrFault(list, item);
  return typeof element === 'string' ? element : undefined;
}

/** An item that cannot be told from others. The message says why. */
export class ItemError extends Error {}

/** Why nothing identifies an item. No error, since those are slow to make and a list may hold very many such items. */
interface Fault {
  readonly fault: string;
}

/** One apply asks for the element of an item a dozen times. Items are never changed, so it is theirs for good. */
const known = new WeakMap<JsonObject, { readonly list: ListType; readonly element: PathElement }>();

function elementOrFault(list: ListType, item: unknown): PathElement | Fault {
  if (list.relation !== 'map') return scalar(item);
  if (!isObject(item)) return keyed(list, item);
  const kept = known.get(item);
  if (kept?.list === list) return kept.element;
  const element = keyed(list, item);
  if (typeof element === 'string') known.set(item, { list, element });
  return element;
}

function keyed(list: ListType, item: unknown): PathElement | Fault {
  if (item === null) return { fault: 'associative list with keys may not have a null element' };
  if (!isObject(item)) return { fault: 'associative list with keys may not have non-map elements' };
  const keys: JsonObject = {};
  for (const key of list.keys) {
    const value = Object.hasOwn(item, key) ? item[key] : list.keyDefaults.get(key);
    if (value !== undefined) keys[key] = value;
  }
  if (list.keys.length > 0 && Object.keys(keys).length === 0) {
    const names = list.keys.map((key) => JSON.stringify(key)).join(' ');
    return {
      fault: `associative list with keys has an element that omits all key fields [${names}] (and doesn't have default values for any key fields)`,
    };
  }
  return keyElement(keys);
}

function scalar(item: unknown): PathElement | Fault {
  if (item === null || item === undefined)
    return { fault: "associative list without keys has an element that's an explicit null" };
  if (Array.isArray(item)) return { fault: 'not supported: associative list with lists as elements' };
  if (typeof item === 'object') return { fault: "associative list without keys has an element that's a map type" };
  return valueElement(item);
}

/** The items of a list with what identifies them. Those that nothing identifies, which only old data can hold, are left out. */
export function identified(list: ListType, items: readonly unknown[]): [PathElement, unknown][] {
  const found: [PathElement, unknown][] = [];
  for (const item of items) {
    const element = elementOf(list, item);
    if (element !== undefined) found.push([element, item]);
  }
  return found;
}
