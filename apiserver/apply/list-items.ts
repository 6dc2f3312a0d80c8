import { isObject, type JsonObject } from '../../resources/meta/object.ts';
import type { ListType } from './merge-type.ts';
import { keyElement, type PathElement, valueElement } from './path-element.ts';

/** What identifies an item of a set or of a list by keys. Throws `ItemError` for an item that cannot be in such a list. */
export function itemElement(list: ListType, item: unknown): PathElement {
  if (list.relation !== 'map') return scalar(item);
  if (!isObject(item)) return keyed(list, item);
  const kept = known.get(item);
  if (kept?.list === list) return kept.element;
  const element = keyed(list, item);
  known.set(item, { list, element });
  return element;
}

/** One apply asks for the element of an item a dozen times. Items are never changed, so it is theirs for good. */
const known = new WeakMap<JsonObject, { readonly list: ListType; readonly element: PathElement }>();

/** An item that cannot be told from others. The message says why. */
export class ItemError extends Error {}

function keyed(list: ListType, item: unknown): PathElement {
  if (item === null) throw new ItemError('associative list with keys may not have a null element');
  if (!isObject(item)) throw new ItemError('associative list with keys may not have non-map elements');
  const keys: JsonObject = {};
  for (const key of list.keys) {
    const value = Object.hasOwn(item, key) ? item[key] : list.keyDefaults.get(key);
    if (value !== undefined) keys[key] = value;
  }
  if (list.keys.length > 0 && Object.keys(keys).length === 0) {
    const names = list.keys.map((key) => JSON.stringify(key)).join(' ');
    throw new ItemError(
      `associative list with keys has an element that omits all key fields [${names}] (and doesn't have default values for any key fields)`,
    );
  }
  return keyElement(keys);
}

function scalar(item: unknown): PathElement {
  if (item === null || item === undefined)
    throw new ItemError("associative list without keys has an element that's an explicit null");
  if (Array.isArray(item)) throw new ItemError('not supported: associative list with lists as elements');
  if (typeof item === 'object') throw new ItemError("associative list without keys has an element that's a map type");
  return valueElement(item);
}

/** The items of a list with what identifies them. Those that nothing identifies, which only old data can hold, are left out. */
export function identified(list: ListType, items: readonly unknown[]): [PathElement, unknown][] {
  const found: [PathElement, unknown][] = [];
  for (const item of items) {
    try {
      found.push([itemElement(list, item), item]);
    } catch (error) {
      if (!(error instanceof ItemError)) throw error;
    }
  }
  return found;
}
