import { isObject } from '../../resources/meta/object.ts';
import type { Schema } from '../../resources/meta/schema.ts';
import { isDateTime } from './date-time.ts';
import { isFormat, STRING_FORMATS, type StringFormat } from './string-formats.ts';

/** A schema made ready to hold values against, with bounds and formats as they are enforced. Its parts are made ready when they are first used. */
export class SchemaNode {
  readonly schema: Schema;
  /** Names of the types it may be, nothing for any. */
  readonly types: readonly string[];
  readonly format: ((text: string) => boolean) | undefined;
  readonly required: readonly string[];
  readonly values: SchemaNode | undefined;
  readonly items: SchemaNode | undefined;
  readonly not: SchemaNode | undefined;
  readonly anyOf: readonly SchemaNode[] | undefined;
  readonly oneOf: readonly SchemaNode[] | undefined;
  readonly allOf: readonly SchemaNode[] | undefined;
  readonly #properties: Readonly<Record<string, Schema>>;
  readonly #children = new Map<string, SchemaNode>();
  #words: ReadonlySet<unknown> | undefined;

  constructor(schema: Schema) {
    const embedded = schema['x-kubernetes-embedded-resource'] === true;
    const one = (part: Schema | undefined) => (part === undefined ? undefined : new SchemaNode(part));
    const several = (parts: readonly Schema[] | undefined) => parts?.map((part) => new SchemaNode(part));
    this.schema = schema;
    this.types = typesOf(schema);
    this.format = formatOf(schema.format);
    this.required = [...new Set([...(schema.required ?? []), ...(embedded ? Object.keys(EMBEDDED) : [])])];
    this.values = isObject(schema.additionalProperties) ? new SchemaNode(schema.additionalProperties) : undefined;
    this.items = one(schema.items);
    this.not = one(schema.not);
    this.anyOf = several(schema.anyOf);
    this.oneOf = several(schema.oneOf);
    this.allOf = several(schema.allOf);
    this.#properties = embedded ? { ...EMBEDDED, ...schema.properties } : (schema.properties ?? {});
  }

  /** The schema of a property; undefined where it names none so. */
  property(name: string): SchemaNode | undefined {
    const known = this.#children.get(name);
    if (known !== undefined || !Object.hasOwn(this.#properties, name)) return known;
    const schema = this.#properties[name];
    const made = schema && new SchemaNode(schema);
    if (made !== undefined) this.#children.set(name, made);
    return made;
  }

  /** What is in its enum. A list of no words is, as in Kubernetes, no restriction. */
  get words(): ReadonlySet<unknown> | undefined {
    const words = this.schema.enum;
    if (words === undefined || words.length === 0) return undefined;
    this.#words ??= new Set(words);
    return this.#words;
  }
}

const FORMATS: ReadonlySet<string> = new Set(STRING_FORMATS);
const EMBEDDED: Readonly<Record<string, Schema>> = {
  apiVersion: { type: 'string' },
  kind: { type: 'string' },
  metadata: { type: 'object' },
};

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
