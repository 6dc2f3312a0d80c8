import addFormats from 'ajv-formats';
import { isObject } from '../../resources/meta/object.ts';
import type { Schema } from '../../resources/meta/schema.ts';
import { compilePattern, type SafePattern } from './safe-pattern.ts';
import { isFormat, STRING_FORMATS, type StringFormat } from './string-formats.ts';

/** A schema made ready to hold values against: bounds, patterns and formats as they are enforced. */
export interface SchemaNode {
  /** Names of the types it may be, nothing for any. */
  readonly types: readonly string[];
  readonly schema: Schema;
  readonly pattern: SafePattern | undefined;
  readonly format: ((text: string) => boolean) | undefined;
  /** The scalars of its enum, and whether there is more in it. */
  readonly words: ReadonlySet<unknown> | undefined;
  readonly properties: ReadonlyMap<string, SchemaNode>;
  readonly required: readonly string[];
  readonly values: SchemaNode | undefined;
  readonly items: SchemaNode | undefined;
  readonly not: SchemaNode | undefined;
  readonly anyOf: readonly SchemaNode[] | undefined;
  readonly oneOf: readonly SchemaNode[] | undefined;
  readonly allOf: readonly SchemaNode[] | undefined;
}

const FORMATS: ReadonlySet<string> = new Set(STRING_FORMATS);
const EMBEDDED: Readonly<Record<string, Schema>> = {
  apiVersion: { type: 'string' },
  kind: { type: 'string' },
  metadata: { type: 'object' },
};

/** The node of a schema whose patterns compile. */
export function schemaNode(schema: Schema): SchemaNode {
  const embedded = schema['x-kubernetes-embedded-resource'] === true;
  const properties = { ...(embedded ? EMBEDDED : {}), ...schema.properties };
  const several = (parts: readonly Schema[] | undefined) => parts?.map(schemaNode);
  return {
    types: typesOf(schema),
    schema,
    pattern: schema.pattern === undefined ? undefined : compilePattern(schema.pattern),
    format: formatOf(schema.format),
    // A list of no words is, as in Kubernetes, no restriction.
    words: schema.enum === undefined || schema.enum.length === 0 ? undefined : new Set(schema.enum),
    properties: new Map(Object.entries(properties).map(([name, child]) => [name, schemaNode(child)])),
    required: [...new Set([...(schema.required ?? []), ...(embedded ? Object.keys(EMBEDDED) : [])])],
    values: isObject(schema.additionalProperties) ? schemaNode(schema.additionalProperties) : undefined,
    items: schema.items === undefined ? undefined : schemaNode(schema.items),
    not: schema.not === undefined ? undefined : schemaNode(schema.not),
    anyOf: several(schema.anyOf),
    oneOf: several(schema.oneOf),
    allOf: several(schema.allOf),
  };
}

function typesOf(schema: Schema): string[] {
  if (schema['x-kubernetes-int-or-string'] === true)
    return ['integer', 'string', ...(schema.nullable === true ? ['null'] : [])];
  if (schema.type === undefined) return [];
  return schema.nullable === true ? [schema.type, 'null'] : [schema.type];
}

// int32 and int64 are notes for clients: Kubernetes lets a larger integer pass.
function formatOf(format: string | undefined): SchemaNode['format'] {
  if (format === 'date-time') return isDateTime;
  if (format === undefined || !FORMATS.has(format)) return undefined;
  return (text) => isFormat(format as StringFormat, text);
}

const DATE_TIME = addFormats.default.get('date-time');

function isDateTime(text: string): boolean {
  if (typeof DATE_TIME !== 'object' || !('validate' in DATE_TIME)) throw new Error('date-time is no format');
  return (DATE_TIME.validate as (text: string) => boolean)(text);
}
