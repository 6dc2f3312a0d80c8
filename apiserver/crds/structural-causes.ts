import type { Cause } from '../../resources/meta/api-error.ts';
import { isObject, type JsonObject, jsonEqual } from '../../resources/meta/object.ts';
import type { Schema } from '../../resources/meta/schema.ts';
import { forbiddenField, invalidValue, requiredValue, unsupportedValue } from '../admission/causes.ts';
import { listCauses } from './list-causes.ts';
import { ruleCauses } from './rule-causes.ts';

const TYPES = ['array', 'boolean', 'integer', 'number', 'object', 'string'] as const;
/** What no schema of a CustomResourceDefinition may say. */
const NEVER = ['$ref', 'definitions', 'dependencies', 'patternProperties', 'additionalItems', 'id', '$schema'] as const;
/** What conditions on a value may not say, since the schema around them says it. */
const NOT_IN_CONDITIONS = [
  'type',
  'description',
  'title',
  'default',
  'nullable',
  'additionalProperties',
  'x-kubernetes-preserve-unknown-fields',
  'x-kubernetes-embedded-resource',
  'x-kubernetes-int-or-string',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-map-type',
  'x-kubernetes-validations',
] as const;
const CONDITIONS = ['allOf', 'anyOf', 'oneOf'] as const;
const INT_OR_STRING = [{ type: 'integer' }, { type: 'string' }];

/** Where a schema stands: an object's own, a field of one, or the values of a list or map. */
type Position = 'root' | 'field' | 'value';

/** What keeps a schema from being structural (kubernetes.io, "Specifying a structural schema"). Its shape has been checked. */
export function structuralCauses(schema: Schema, place: string): Cause[] {
  const causes = schemaCauses(schema, place, 'root');
  if (schema.type !== undefined && schema.type !== 'object') {
    causes.push(invalidValue(`${place}.type`, schema.type, 'objects of a kind are of type object'));
  }
  if (schema.additionalProperties !== undefined) {
    causes.push(forbiddenField(`${place}.additionalProperties`, 'the fields of an object itself are named one by one'));
  }
  causes.push(...metadataCauses(schema.properties?.metadata, `${place}.properties[metadata]`));
  return causes;
}

function schemaCauses(schema: Schema, place: string, position: Position): Cause[] {
  return [
    ...typeCauses(schema, place, position),
    ...neverCauses(schema, place),
    ...fieldsCauses(schema, place),
    ...extensionCauses(schema, place),
    ...listCauses(schema, place),
    ...ruleCauses(schema, place),
    ...conditionsCauses(schema, schema, place),
    ...childrenCauses(schema, place),
  ];
}

function typeCauses(schema: Schema, place: string, position: Position): Cause[] {
  const { type } = schema;
  const free = schema['x-kubernetes-int-or-string'] === true || schema['x-kubernetes-preserve-unknown-fields'] === true;
  if (type === undefined || (type as string) === '') {
    const whose = { root: 'the object', field: 'a field', value: 'the items of a list or map' }[position];
    return free && position !== 'root' ? [] : [requiredValue(`${place}.type`, `${whose} must have a type`)];
  }
  return (TYPES as readonly string[]).includes(type) ? [] : [unsupportedValue(`${place}.type`, type, TYPES)];
}

function neverCauses(schema: Schema, place: string): Cause[] {
  const fields = schema as JsonObject;
  const causes = NEVER.filter((name) => Object.hasOwn(fields, name)).map((name) =>
    forbiddenField(`${place}.${name}`, `a structural schema has no ${name}`),
  );
  if (fields.uniqueItems === true) {
    causes.push(forbiddenField(`${place}.uniqueItems`, 'use x-kubernetes-list-type: set, which costs less to check'));
  }
  return causes;
}

function fieldsCauses({ properties, additionalProperties, type }: Schema, place: string): Cause[] {
  const causes: Cause[] = [];
  if (additionalProperties === false) {
    causes.push(
      forbiddenField(`${place}.additionalProperties`, 'must not be false: unknown fields are dropped anyway'),
    );
  }
  if (properties !== undefined && additionalProperties !== undefined) {
    causes.push(forbiddenField(`${place}.additionalProperties`, 'must not stand beside properties'));
  }
  const isMap = properties !== undefined || additionalProperties !== undefined;
  if (isMap && type !== undefined && type !== 'object') {
    causes.push(invalidValue(`${place}.type`, type, 'what has fields is of type object'));
  }
  return causes;
}

function extensionCauses(schema: Schema, place: string): Cause[] {
  const causes: Cause[] = [];
  const at = (name: string) => `${place}.${name}`;
  if (schema['x-kubernetes-preserve-unknown-fields'] === false) {
    causes.push(invalidValue(at('x-kubernetes-preserve-unknown-fields'), false, 'must be true or absent'));
  }
  if (schema['x-kubernetes-int-or-string'] === true && schema.type !== undefined) {
    causes.push(invalidValue(at('type'), schema.type, 'must be absent beside x-kubernetes-int-or-string'));
  }
  if (schema['x-kubernetes-embedded-resource'] === true) {
    if (schema.type !== 'object')
      causes.push(invalidValue(at('type'), schema.type, 'an embedded resource is an object'));
    if (schema.properties === undefined && schema['x-kubernetes-preserve-unknown-fields'] !== true) {
      causes.push(requiredValue(at('properties'), 'an embedded resource has properties or keeps unknown fields'));
    }
    causes.push(...metadataCauses(schema.properties?.metadata, `${place}.properties[metadata]`));
  }
  return causes;
}

/** An object's metadata is as of every object; a kind may only narrow how its objects are named. */
function metadataCauses(metadata: Schema | undefined, place: string): Cause[] {
  if (metadata === undefined) return [];
  const { type, description: _, properties = {}, ...rest } = metadata;
  const causes = Object.keys(rest).map((name) => forbiddenField(`${place}.${name}`, METADATA));
  if (type !== undefined && type !== 'object') causes.push(invalidValue(`${place}.type`, type, 'must be object'));
  for (const [name, child] of Object.entries(properties)) {
    if (name !== 'name' && name !== 'generateName')
      causes.push(forbiddenField(`${place}.properties[${name}]`, METADATA));
    if (child.default !== undefined)
      causes.push(forbiddenField(`${place}.properties[${name}].default`, 'metadata has no defaults'));
  }
  return causes;
}

const METADATA = 'of metadata only name and generateName may be restricted';

/** The conditions of a value: `allOf` and its like may say only what does not shape it, and of nothing but what the schema knows. */
function conditionsCauses(conditions: Schema, structure: Schema | undefined, place: string): Cause[] {
  const causes: Cause[] = [];
  for (const name of CONDITIONS) {
    if (name === 'anyOf' && isIntOrString(conditions)) continue;
    for (const [i, one] of (conditions[name] ?? []).entries()) {
      const spelled = name === 'allOf' && structure?.['x-kubernetes-int-or-string'] === true;
      if (spelled && jsonEqual(one, { anyOf: INT_OR_STRING })) continue;
      causes.push(...conditionCauses(one, structure, `${place}.${name}[${i}]`));
    }
  }
  if (conditions.not !== undefined) causes.push(...conditionCauses(conditions.not, structure, `${place}.not`));
  return causes;
}

const isIntOrString = (schema: Schema): boolean =>
  schema['x-kubernetes-int-or-string'] === true && jsonEqual(schema.anyOf, INT_OR_STRING);

function conditionCauses(condition: Schema, structure: Schema | undefined, place: string): Cause[] {
  const causes: Cause[] = [...neverCauses(condition, place)];
  if (structure === undefined) {
    causes.push(requiredValue(place, 'what a condition is about must also stand in the schema around it'));
    return causes;
  }
  for (const name of NOT_IN_CONDITIONS) {
    if (Object.hasOwn(condition, name))
      causes.push(forbiddenField(`${place}.${name}`, 'belongs outside of conditions'));
  }
  const fields = structure.properties ?? {};
  for (const [name, child] of Object.entries(condition.properties ?? {})) {
    const field = Object.hasOwn(fields, name) ? fields[name] : valuesOf(structure);
    causes.push(...conditionCauses(child, field, `${place}.properties[${name}]`));
  }
  if (Array.isArray(condition.items)) causes.push(forbiddenField(`${place}.items`, ONE_ITEM_SCHEMA));
  else if (condition.items !== undefined)
    causes.push(...conditionCauses(condition.items, structure.items, `${place}.items`));
  return [...causes, ...conditionsCauses(condition, structure, place)];
}

const valuesOf = ({ additionalProperties }: Schema): Schema | undefined =>
  isObject(additionalProperties) ? (additionalProperties as Schema) : undefined;

const ONE_ITEM_SCHEMA = 'must be one schema for all items';

function childrenCauses(schema: Schema, place: string): Cause[] {
  const causes: Cause[] = [];
  for (const [name, child] of Object.entries(schema.properties ?? {})) {
    causes.push(...schemaCauses(child, `${place}.properties[${name}]`, 'field'));
  }
  const values = valuesOf(schema);
  if (values !== undefined) causes.push(...schemaCauses(values, `${place}.additionalProperties`, 'value'));
  if (Array.isArray(schema.items)) causes.push(forbiddenField(`${place}.items`, ONE_ITEM_SCHEMA));
  else if (schema.items !== undefined) causes.push(...schemaCauses(schema.items, `${place}.items`, 'value'));
  else if (schema.type === 'array') causes.push(requiredValue(`${place}.items`, 'a list says what its items are'));
  return causes;
}
