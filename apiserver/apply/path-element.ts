import { encodeJson, parseJson } from '../../resources/meta/json.ts';
import { JsonSyntaxError } from '../../resources/meta/json-syntax-error.ts';
import { isObject, type JsonObject } from '../../resources/meta/object.ts';

/**
 * One step of a path into an object, in the text form of FieldsV1: `f:NAME` a field, `k:{…}` the item of a list by its keys, `v:…` the item
 * of a set, `i:N` a place in a list. Two steps are the same exactly when their texts are.
 */
export type PathElement = string;

export const fieldElement = (name: string): PathElement => `f:${name}`;

/** The item of a set with this scalar value. */
export const valueElement = (value: unknown): PathElement => `v:${encodeJson(value)}`;

/** The item of a list that has these key fields. */
export function keyElement(keys: JsonObject): PathElement {
  const names = Object.keys(keys).sort();
  return `k:${encodeJson(Object.fromEntries(names.map((name) => [name, keys[name]])))}`;
}

/** The name of a field step; undefined for another step. */
export function fieldName(element: PathElement): string | undefined {
  return element.startsWith('f:') ? element.slice(2) : undefined;
}

/** The step a client wrote, in the one text it has here; undefined when it is none. */
export function readElement(text: string): PathElement | undefined {
  const rest = text.slice(2);
  switch (text.slice(0, 2)) {
    case 'f:':
      return text;
    case 'i:':
      return /^(0|[1-9][0-9]*)$/.test(rest) ? text : undefined;
    case 'v:': {
      const value = jsonOf(rest);
      return value === undefined ? undefined : valueElement(value);
    }
    case 'k:': {
      const keys = jsonOf(rest);
      return isObject(keys) ? keyElement(keys) : undefined;
    }
    default:
      return undefined;
  }
}

/** The step as messages show it: `.name`, `[key="value"]`, `[="value"]`, `[0]`. */
export function showElement(element: PathElement): string {
  const rest = element.slice(2);
  switch (element.slice(0, 2)) {
    case 'f:':
      return `.${rest}`;
    case 'k:': {
      const keys = jsonOf(rest);
      const shown = isObject(keys) ? Object.entries(keys).map(([name, value]) => `${name}=${encodeJson(value)}`) : [];
      return `[${shown.join(',')}]`;
    }
    case 'v:':
      return `[=${rest}]`;
    default:
      return `[${rest}]`;
  }
}

/** A whole path as messages show it. */
export const showPath = (path: readonly PathElement[]): string => path.map(showElement).join('');

const RANK: Readonly<Record<string, number>> = { f: 0, k: 1, v: 2, i: 3 };

/** The order of steps in messages and in FieldsV1: fields, items by key, items by value, places. */
export function compareElements(a: PathElement, b: PathElement): number {
  const byRank = (RANK[a.slice(0, 1)] ?? 4) - (RANK[b.slice(0, 1)] ?? 4);
  if (byRank !== 0) return byRank;
  if (a.startsWith('v:') || a.startsWith('i:')) {
    const byNumber = Number(a.slice(2)) - Number(b.slice(2));
    if (Number.isFinite(byNumber) && byNumber !== 0) return byNumber;
  }
  return a < b ? -1 : a > b ? 1 : 0;
}

function jsonOf(text: string): unknown {
  try {
    return parseJson(text).value;
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}
