import { isObject } from '../../resources/meta/object.ts';
import type { Schema } from '../../resources/meta/schema.ts';
import { typeName } from './go-format.ts';

/** What Go's decoder calls a JSON value in its errors. */
export function jsonWord(value: unknown): string {
  const name = typeName(value);
  if (name === 'boolean') return 'bool';
  return name === 'integer' ? 'number' : name;
}

/** What Go's decoder calls the type that a schema stands for. */
export function goWord(schema: Schema): string {
  switch (schema.type) {
    case 'array':
      return `[]${schema.items === undefined ? 'string' : goWord(schema.items)}`;
    case 'object':
      return isObject(schema.additionalProperties) ? `map[string]${goWord(schema.additionalProperties)}` : 'struct';
    case 'integer':
      return schema.format ?? 'int64';
    case 'boolean':
      return 'bool';
    default:
      return schema.format === 'byte' ? '[]uint8' : 'string';
  }
}
