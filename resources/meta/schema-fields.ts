import { setOwn } from './json-reader.ts';
import { isObject, type JsonObject } from './object.ts';

/** What may stand in a field of a schema. */
export type SchemaFieldShape =
  | 'text'
  | 'whole'
  | 'number'
  | 'flag'
  | 'any'
  | 'list'
  | 'texts'
  | 'object'
  | 'schema'
  | 'schema or list'
  | 'schema or flag'
  | 'schemas'
  | 'schemas by name'
  | 'schemas or texts by name'
  | 'rules';

/** The fields of a schema in a CustomResourceDefinition (k8s.io/apiextensions-apiserver, JSONSchemaProps), and what each holds. */
export const SCHEMA_FIELDS: ReadonlyMap<string, SchemaFieldShape> = new Map([
  ['$ref', 'text'],
  ['$schema', 'text'],
  ['id', 'text'],
  ['title', 'text'],
  ['description', 'text'],
  ['type', 'text'],
  ['format', 'text'],
  ['pattern', 'text'],
  ['default', 'any'],
  ['example', 'any'],
  ['enum', 'list'],
  ['required', 'texts'],
  ['nullable', 'flag'],
  ['uniqueItems', 'flag'],
  ['minimum', 'number'],
  ['maximum', 'number'],
  ['exclusiveMinimum', 'flag'],
  ['exclusiveMaximum', 'flag'],
  ['multipleOf', 'number'],
  ['minLength', 'whole'],
  ['maxLength', 'whole'],
  ['minItems', 'whole'],
  ['maxItems', 'whole'],
  ['minProperties', 'whole'],
  ['maxProperties', 'whole'],
  ['externalDocs', 'object'],
  ['items', 'schema or list'],
  ['additionalItems', 'schema or flag'],
  ['properties', 'schemas by name'],
  ['patternProperties', 'schemas by name'],
  ['additionalProperties', 'schema or flag'],
  ['definitions', 'schemas by name'],
  ['dependencies', 'schemas or texts by name'],
  ['allOf', 'schemas'],
  ['anyOf', 'schemas'],
  ['oneOf', 'schemas'],
  ['not', 'schema'],
  ['x-kubernetes-preserve-unknown-fields', 'flag'],
  ['x-kubernetes-embedded-resource', 'flag'],
  ['x-kubernetes-int-or-string', 'flag'],
  ['x-kubernetes-list-type', 'text'],
  ['x-kubernetes-list-map-keys', 'texts'],
  ['x-kubernetes-map-type', 'text'],
  ['x-kubernetes-validations', 'rules'],
]);

/** The fields of one of `x-kubernetes-validations`. */
export const RULE_FIELDS: ReadonlyMap<string, SchemaFieldShape> = new Map([
  ['rule', 'text'],
  ['message', 'text'],
  ['messageExpression', 'text'],
  ['fieldPath', 'text'],
  ['reason', 'text'],
  ['optionalOldSelf', 'flag'],
]);

/**
 * A schema without the fields no schema has, which go to `unknown` with their paths, and without nulls, which mean nothing in it. What is
 * of a wrong shape stays as it is.
 */
export function pruneSchema(schema: unknown, path: string, unknown: string[]): unknown {
  return isObject(schema) ? pruneFields(schema, SCHEMA_FIELDS, path, unknown) : schema;
}

function pruneFields(
  value: JsonObject,
  known: ReadonlyMap<string, SchemaFieldShape>,
  path: string,
  unknown: string[],
): JsonObject {
  const kept: JsonObject = {};
  for (const [name, field] of Object.entries(value)) {
    const at = `${path}.${name}`;
    const shape = known.get(name);
    if (shape === undefined) unknown.push(at);
    else if (field !== null || shape === 'any') setOwn(kept, name, prunePart(field, shape, at, unknown));
  }
  return kept;
}

function prunePart(value: unknown, shape: SchemaFieldShape, path: string, unknown: string[]): unknown {
  const each = (list: readonly unknown[]) => list.map((item, i) => pruneSchema(item, `${path}[${i}]`, unknown));
  switch (shape) {
    case 'schema':
    case 'schema or flag':
      return pruneSchema(value, path, unknown);
    case 'schema or list':
      return Array.isArray(value) ? each(value) : pruneSchema(value, path, unknown);
    case 'schemas':
      return Array.isArray(value) ? each(value) : value;
    case 'schemas by name':
    case 'schemas or texts by name': {
      if (!isObject(value)) return value;
      const kept: JsonObject = {};
      for (const [name, child] of Object.entries(value))
        setOwn(kept, name, pruneSchema(child, `${path}.${name}`, unknown));
      return kept;
    }
    case 'rules':
      return Array.isArray(value)
        ? value.map((rule, i) => (isObject(rule) ? pruneFields(rule, RULE_FIELDS, `${path}[${i}]`, unknown) : rule))
        : value;
    default:
      return value;
  }
}
