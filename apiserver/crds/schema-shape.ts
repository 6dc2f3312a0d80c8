import type { Cause } from '../../resources/meta/api-error.ts';
import { isObject } from '../../resources/meta/object.ts';
import { RULE_FIELDS, SCHEMA_FIELDS, type SchemaFieldShape } from '../../resources/meta/schema-fields.ts';
import { wrongType } from '../admission/causes.ts';
import { typeName } from '../admission/go-format.ts';

/** Fields of a schema that hold what they must not, such as a list of properties. Only a schema without any can be looked into further. */
export function shapeCauses(schema: unknown, place: string): Cause[] {
  if (!isObject(schema)) return [wrongType(place, schema, 'object')];
  return Object.entries(schema).flatMap(([name, value]) => {
    const shape = SCHEMA_FIELDS.get(name);
    return shape === undefined ? [] : partCauses(value, shape, `${place}.${name}`);
  });
}

function partCauses(value: unknown, shape: SchemaFieldShape, place: string): Cause[] {
  switch (shape) {
    case 'any':
      return [];
    case 'text':
      return typed(value, 'string', place);
    case 'flag':
      return typed(value, 'boolean', place);
    case 'whole':
      return typed(value, 'integer', place);
    case 'number':
      return ['integer', 'number'].includes(typeName(value)) ? [] : [wrongType(place, value, 'number')];
    case 'object':
      return typed(value, 'object', place);
    case 'list':
      return typed(value, 'array', place);
    case 'texts':
      return listed(value, place, (item, at) => typed(item, 'string', at));
    case 'schema':
      return shapeCauses(value, place);
    case 'schema or flag':
      return typeof value === 'boolean' ? [] : shapeCauses(value, place);
    case 'schema or list':
      return Array.isArray(value) ? listed(value, place, shapeCauses) : shapeCauses(value, place);
    case 'schemas':
      return listed(value, place, shapeCauses);
    case 'schemas by name':
      return named(value, place, shapeCauses);
    case 'schemas or texts by name':
      return named(value, place, (item, at) => (Array.isArray(item) ? [] : shapeCauses(item, at)));
    case 'rules':
      return listed(value, place, ruleCauses);
    default:
      throw new Error(`unhandled shape ${shape satisfies never}`);
  }
}

function ruleCauses(rule: unknown, place: string): Cause[] {
  if (!isObject(rule)) return [wrongType(place, rule, 'object')];
  return Object.entries(rule).flatMap(([name, value]) => {
    const shape = RULE_FIELDS.get(name);
    return shape === undefined ? [] : partCauses(value, shape, `${place}.${name}`);
  });
}

const typed = (value: unknown, type: string, place: string): Cause[] =>
  typeName(value) === type ? [] : [wrongType(place, value, type)];

function listed(value: unknown, place: string, each: (item: unknown, place: string) => Cause[]): Cause[] {
  if (!Array.isArray(value)) return [wrongType(place, value, 'array')];
  return value.flatMap((item, i) => each(item, `${place}[${i}]`));
}

function named(value: unknown, place: string, each: (item: unknown, place: string) => Cause[]): Cause[] {
  if (!isObject(value)) return [wrongType(place, value, 'object')];
  return Object.entries(value).flatMap(([name, item]) => each(item, `${place}[${name}]`));
}
