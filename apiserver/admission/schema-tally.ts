import { isObject } from '../../resources/meta/object.ts';
import type { Schema } from '../../resources/meta/schema.ts';

/** How much of what takes work is in a schema, conditions and all. */
interface SchemaTally {
  patterns: number;
  rules: number;
  defaults: number;
}

const tallies = new WeakMap<Schema, SchemaTally>();

/** Counted once for each schema. */
export function tallyOf(schema: Schema): Readonly<SchemaTally> {
  let tally = tallies.get(schema);
  if (tally === undefined) {
    tally = { patterns: 0, rules: 0, defaults: 0 };
    count(schema, tally);
    tallies.set(schema, tally);
  }
  return tally;
}

function count(schema: Schema, tally: SchemaTally): void {
  const { properties, items, additionalProperties, not, allOf, anyOf, oneOf } = schema;
  if (schema.pattern !== undefined) tally.patterns++;
  if (schema.default !== undefined) tally.defaults++;
  tally.rules += schema['x-kubernetes-validations']?.length ?? 0;
  if (properties !== undefined) for (const part of Object.values(properties)) count(part, tally);
  if (items !== undefined) count(items, tally);
  if (isObject(additionalProperties)) count(additionalProperties as Schema, tally);
  if (not !== undefined) count(not, tally);
  for (const parts of [allOf, anyOf, oneOf]) if (parts !== undefined) for (const part of parts) count(part, tally);
}
