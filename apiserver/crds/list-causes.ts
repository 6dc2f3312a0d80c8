import type { Cause } from '../../resources/meta/api-error.ts';
import type { Schema } from '../../resources/meta/schema.ts';
import { duplicateValue, forbiddenField, invalidValue, requiredValue, unsupportedValue } from '../admission/causes.ts';

const LIST_TYPES = ['atomic', 'map', 'set'];
const MAP_TYPES = ['atomic', 'granular'];

/** What is wrong with how a schema says its list or map is merged (kubernetes.io, "Merge strategy"). */
export function listCauses(schema: Schema, place: string): Cause[] {
  const list = schema['x-kubernetes-list-type'];
  const map = schema['x-kubernetes-map-type'];
  const keys = schema['x-kubernetes-list-map-keys'];
  const at = (name: string) => `${place}.x-kubernetes-${name}`;
  const causes: Cause[] = [];
  if (map !== undefined) {
    if (!MAP_TYPES.includes(map)) causes.push(unsupportedValue(at('map-type'), map, MAP_TYPES));
    if (schema.type !== 'object') causes.push(invalidValue(`${place}.type`, schema.type, 'a map is of type object'));
  }
  if (keys !== undefined && list !== 'map') {
    causes.push(forbiddenField(at('list-map-keys'), 'only lists of x-kubernetes-list-type map have keys'));
  }
  if (list === undefined) return causes;
  if (!LIST_TYPES.includes(list)) causes.push(unsupportedValue(at('list-type'), list, LIST_TYPES));
  if (schema.type !== 'array') causes.push(invalidValue(`${place}.type`, schema.type, 'a list is of type array'));
  if (list === 'set') causes.push(...setCauses(schema.items, place));
  if (list === 'map') causes.push(...keyedCauses(schema.items, keys ?? [], place));
  return causes;
}

/** Items of a set are compared whole. */
function setCauses(items: Schema | undefined, place: string): Cause[] {
  if (items === undefined) return [];
  const causes: Cause[] = [];
  if (items.nullable === true) causes.push(forbiddenField(`${place}.items.nullable`, 'items of a set are never null'));
  if (items.type === 'object' && items['x-kubernetes-map-type'] !== 'atomic') {
    const why = 'objects in a set are atomic';
    causes.push(invalidValue(`${place}.items.x-kubernetes-map-type`, items['x-kubernetes-map-type'], why));
  }
  if (items.type === 'array' && (items['x-kubernetes-list-type'] ?? 'atomic') !== 'atomic') {
    const why = 'lists in a set are atomic';
    causes.push(invalidValue(`${place}.items.x-kubernetes-list-type`, items['x-kubernetes-list-type'], why));
  }
  return causes;
}

/** Items of a keyed list are objects that have every key. */
function keyedCauses(items: Schema | undefined, keys: readonly string[], place: string): Cause[] {
  const at = `${place}.x-kubernetes-list-map-keys`;
  const causes: Cause[] = [];
  if (keys.length === 0) causes.push(requiredValue(at, 'a list of x-kubernetes-list-type map has keys'));
  if (items === undefined) return causes;
  if (items.type !== 'object')
    causes.push(invalidValue(`${place}.items.type`, items.type, 'what has keys is an object'));
  if (items.nullable === true) causes.push(forbiddenField(`${place}.items.nullable`, 'what has keys is never null'));
  for (const [i, key] of keys.entries()) {
    const field = Object.hasOwn(items.properties ?? {}, key) ? items.properties?.[key] : undefined;
    if (keys.indexOf(key) < i) causes.push(duplicateValue(`${at}[${i}]`, key));
    if (field === undefined) causes.push(invalidValue(`${at}[${i}]`, key, 'is no property of the items'));
    else if (field.type === 'object' || field.type === 'array')
      causes.push(invalidValue(`${at}[${i}]`, key, 'must be of a scalar type'));
    else if (field.default === undefined && items.required?.includes(key) !== true)
      causes.push(requiredValue(`${place}.items.properties[${key}].default`, 'a key is required, or has a default'));
  }
  return causes;
}
