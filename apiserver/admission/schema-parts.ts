import { isObject } from '../../resources/meta/object.ts';
import type { Schema } from '../../resources/meta/schema.ts';

const LISTS = ['allOf', 'anyOf', 'oneOf'] as const;

/** The schemas that stand in a schema, each with its place as messages tell it: `properties[a].`. */
export function* partsOf(schema: Schema, place: string): Generator<readonly [place: string, part: Schema]> {
  const { properties, items, additionalProperties, not } = schema;
  for (const name in properties) {
    const part = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (part !== undefined) yield [`${place}properties[${name}].`, part];
  }
  if (items !== undefined) yield [`${place}items.`, items];
  if (isObject(additionalProperties)) yield [`${place}additionalProperties.`, additionalProperties as Schema];
  for (const key of LISTS) {
    for (const [i, part] of (schema[key] ?? []).entries()) yield [`${place}${key}[${i}].`, part];
  }
  if (not !== undefined) yield [`${place}not.`, not];
}
