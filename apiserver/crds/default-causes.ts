import type { Cause } from '../../resources/meta/api-error.ts';
import { isObject, type JsonObject } from '../../resources/meta/object.ts';
import type { Schema } from '../../resources/meta/schema.ts';
import { forbiddenField, invalidValue } from '../admission/causes.ts';
import { compiledSoon } from '../admission/compiled-schema.ts';
import { checkListTypes } from '../admission/list-types.ts';
import { schemaCheck } from '../admission/schema-check.ts';
import { tallyOf } from '../admission/schema-tally.ts';
import { applyDefaults, pruneUnknown } from '../admission/structural.ts';

interface Default {
  readonly place: string;
  readonly schema: Schema;
}

/**
 * Defaults that their own schema would refuse, or that hold fields it does not know; none where the schema does not compile, which is
 * told when the whole of it is compiled.
 */
export function defaultCauses(root: Schema, place: string): Cause[] {
  if (tallyOf(root).defaults === 0) return [];
  const found = [...defaultsIn(root, place)];
  if (found.length === 0) return [];
  if (root.default !== undefined) return [forbiddenField(`${place}.default`, 'an object itself has no default')];
  // One schema with a field for each default is compiled once for all.
  const schema: Schema = {
    type: 'object',
    properties: Object.fromEntries(found.map(({ schema: { default: _, ...rest } }, i) => [`d${i}`, rest])),
  };
  const given: JsonObject = Object.fromEntries(found.map(({ schema: { default: value } }, i) => [`d${i}`, value]));
  const { unknown } = pruneUnknown(given, schema);
  const filled = nullsKept(applyDefaults(given, schema), given);
  const { patternFaults, ruleFaults, rules } = compiledSoon(schema);
  if (patternFaults.length + ruleFaults.length > 0) return [];
  const causes = [...schemaCheck(schema)(filled), ...checkListTypes(filled, schema)];
  if (causes.length === 0) causes.push(...(rules?.(filled) ?? []));
  return [
    ...causes.map(({ message, ...cause }) => ({
      ...cause,
      message: message.replace(NAMED, '$1default$2'),
      field: placeOf(cause.field, found),
    })),
    ...unknown.map((path) =>
      invalidValue(placeOf(path, found), path.replace(/^d[0-9]+\.?/, ''), 'is no field it knows'),
    ),
  ];
}

/** Where a message names one of the fields that stand for defaults. */
const NAMED = /(^|[ "])d[0-9]+((?:[.[][^ "]*)?"? (?:in body|must validate))/;

/** A null that the schema does not allow is dropped from objects, but as a default it is a fault. */
function nullsKept(filled: JsonObject, given: JsonObject): JsonObject {
  return { ...filled, ...Object.fromEntries(Object.entries(given).filter(([, value]) => value === null)) };
}

/** `d3.name` is in the third default. */
function placeOf(field: string | undefined, found: readonly Default[]): string {
  const match = /^d([0-9]+)(.*)$/s.exec(field ?? '');
  const one = found[Number(match?.[1] ?? -1)];
  return one === undefined ? (field ?? '<nil>') : `${one.place}.default${match?.[2] ?? ''}`;
}

function* defaultsIn(schema: Schema, place: string): Iterable<Default> {
  if (schema.default !== undefined) yield { place, schema };
  for (const [name, child] of Object.entries(schema.properties ?? {})) {
    yield* defaultsIn(child, `${place}.properties[${name}]`);
  }
  if (schema.items !== undefined) yield* defaultsIn(schema.items, `${place}.items`);
  if (isObject(schema.additionalProperties))
    yield* defaultsIn(schema.additionalProperties as Schema, `${place}.additionalProperties`);
}
