import type { Cause } from '../../resources/meta/api-error.ts';
import { encodeJson } from '../../resources/meta/json.ts';
import { isObject, type JsonObject } from '../../resources/meta/object.ts';
import type { Schema } from '../../resources/meta/schema.ts';
import { duplicateValue, invalidValue } from './causes.ts';
import { childPath } from './field-path.ts';
import { propertyOf } from './structural.ts';

/** What is there twice in lists that are sets, or maps by some keys. Values of other shapes are left to the schema. */
export function checkListTypes(value: unknown, schema: Schema, path = ''): Cause[] {
  if (Array.isArray(value)) {
    const here = listCauses(value, schema, path);
    const items = schema.items;
    if (items === undefined) return here;
    return [...here, ...value.flatMap((item, i) => checkListTypes(item, items, `${path}[${i}]`))];
  }
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, field]) => {
    const known =
      propertyOf(schema, name) ?? (isObject(schema.additionalProperties) ? schema.additionalProperties : undefined);
    return known === undefined ? [] : checkListTypes(field, known, childPath(path, name));
  });
}

function listCauses(list: readonly unknown[], schema: Schema, path: string): Cause[] {
  switch (schema['x-kubernetes-list-type']) {
    case 'set':
      return repeated(list, (item) => item, path);
    case 'map': {
      const odd = list.findIndex((item) => item !== null && !isObject(item));
      if (odd >= 0)
        return [invalidValue(`${path}[${odd}]`, list[odd], 'must be an object for an array of list-type map')];
      const keys = schema['x-kubernetes-list-map-keys'] ?? [];
      return repeated(list, (item) => (isObject(item) ? keyOf(item, keys) : undefined), path);
    }
    default:
      return [];
  }
}

/** Each item that an earlier one equals, by what `identify` answers; undefined equals nothing. */
function repeated(list: readonly unknown[], identify: (item: unknown) => unknown, path: string): Cause[] {
  const seen = new Set<string>();
  const told = new Set<string>();
  return list.flatMap((item, i) => {
    const identity = identify(item);
    if (identity === undefined) return [];
    const text = canonical(identity);
    if (!seen.has(text)) {
      seen.add(text);
      return [];
    }
    if (told.has(text)) return [];
    told.add(text);
    return [duplicateValue(`${path}[${i}]`, identity)];
  });
}

function keyOf(item: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(keys.filter((key) => Object.hasOwn(item, key)).map((key) => [key, item[key]]));
}

/** The same text for equal values, whatever the order of their fields. */
function canonical(value: unknown): string {
  return encodeJson(inOrder(value));
}

function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, field]) => [name, inOrder(field)]),
  );
}
