import { encodeJson } from '../../resources/meta/json.ts';
import { isObject } from '../../resources/meta/object.ts';
import { ItemError, itemElement } from './list-items.ts';
import {
  fieldType,
  formOf,
  isScalar,
  type ListType,
  type MapType,
  type MergeType,
  type ScalarType,
} from './merge-type.ts';
import { fieldElement, type PathElement, showElement } from './path-element.ts';

/**
 * What keeps an applied configuration from being merged: fields the schema does not know, values of another shape, items that are there
 * twice or cannot be told apart. One text each; none when it can be.
 */
export function checkApplied(config: unknown, type: MergeType): readonly string[] {
  return check(config, type);
}

function check(value: unknown, type: MergeType): string[] {
  if (value === null) return [];
  const at = formOf(type, value);
  switch (at.form) {
    case 'map':
      return checkMap(value, at.type);
    case 'list':
      return checkList(value, at.type);
    case 'scalar':
      return checkScalar(value, at.type);
    default:
      throw new Error(`unhandled form ${at satisfies never}`);
  }
}

const below = (element: PathElement, texts: readonly string[]): string[] =>
  texts.map((text) => `${showElement(element)}${/^[.[]/.test(text) ? '' : ': '}${text}`);

function checkMap(value: unknown, map: MapType): string[] {
  if (!isObject(value)) return [`expected map, got ${shown(value)}`];
  return Object.entries(value).flatMap(([name, field]) => {
    const type = fieldType(map, name);
    return below(fieldElement(name), type === undefined ? ['field not declared in schema'] : check(field, type));
  });
}

function checkList(value: unknown, list: ListType): string[] {
  if (!Array.isArray(value)) return [`expected list, got ${shown(value)}`];
  const seen = new Set<PathElement>();
  return value.flatMap((item, index) => {
    if (list.relation === 'atomic') return below(`i:${index}`, check(item, list.element));
    try {
      const element = itemElement(list, item);
      const twice = seen.has(element) ? [`duplicate entries for key ${showElement(element)}`] : [];
      seen.add(element);
      return [...twice, ...below(element, check(item, list.element))];
    } catch (error) {
      if (error instanceof ItemError) return [`element ${index}: ${error.message}`];
      throw error;
    }
  });
}

function checkScalar(value: unknown, scalar: ScalarType): string[] {
  const word = { string: 'string', numeric: 'numeric (int or float)', boolean: 'boolean', any: 'any scalar' }[scalar];
  return fits(value, scalar) ? [] : [`expected ${word}, got ${shown(value)}`];
}

function fits(value: unknown, scalar: ScalarType): boolean {
  switch (scalar) {
    case 'string':
      return typeof value === 'string';
    case 'numeric':
      return typeof value === 'number' || typeof value === 'bigint';
    case 'boolean':
      return typeof value === 'boolean';
    case 'any':
      return isScalar(value);
    default:
      throw new Error(`unhandled scalar ${scalar satisfies never}`);
  }
}

function shown(value: unknown): string {
  const text = encodeJson(value);
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}
