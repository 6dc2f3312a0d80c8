import { setOwn } from '../../resources/meta/json-reader.ts';
import { isObject, type JsonObject } from '../../resources/meta/object.ts';
import type { Schema } from '../../resources/meta/schema.ts';
import { OBJECT_META } from './object-meta-schema.ts';

export interface Pruned<T> {
  readonly object: T;
  /** Paths of what was dropped (`spec.bogus`, `spec.parts[0].nope`), sorted. */
  readonly unknown: readonly string[];
}

/**
 * Drops every field the schema (of all but apiVersion, kind and metadata) does not name. The input is left as it is;
 * parts in which nothing is dropped are shared with it.
 */
export function pruneUnknown<T extends JsonObject>(object: T, schema: Schema): Pruned<T> {
  const unknown: string[] = [];
  const pruned = pruneFields(object, { ...schema, 'x-kubernetes-embedded-resource': true }, '', unknown);
  return { object: pruned as T, unknown: unknown.sort() };
}

const NOTHING_KNOWN: Schema = {};
const TYPE_META: Schema = { type: 'string' };

function prune(value: unknown, schema: Schema, path: string, unknown: string[]): unknown {
  if (Array.isArray(value)) {
    const items = schema.items ?? (keepsUnknown(schema) ? undefined : NOTHING_KNOWN);
    if (items === undefined) return value;
    const pruned = value.map((item, i) => prune(item, items, `${path}[${i}]`, unknown));
    return pruned.every((item, i) => item === value[i]) ? value : pruned;
  }
  return isObject(value) ? pruneFields(value, schema, path, unknown) : value;
}

function pruneFields(value: JsonObject, schema: Schema, path: string, unknown: string[]): JsonObject {
  const kept: JsonObject = {};
  let changed = false;
  for (const [name, field] of Object.entries(value)) {
    const at = path === '' ? name : `${path}.${name}`;
    const known = knownField(schema, name);
    if (known === undefined) {
      unknown.push(at);
      changed = true;
      continue;
    }
    const pruned = known === true ? field : prune(field, known, at, unknown);
    if (pruned !== field) changed = true;
    setOwn(kept, name, pruned);
  }
  return changed ? kept : value;
}

/** The schema of a field, `true` when it is kept with everything in it, undefined when it is unknown. */
function knownField(schema: Schema, name: string): Schema | true | undefined {
  if (schema['x-kubernetes-embedded-resource'] === true) {
    if (name === 'metadata') return OBJECT_META;
    if (name === 'apiVersion' || name === 'kind') return TYPE_META;
  }
  const own = propertyOf(schema, name);
  if (own !== undefined) return own;
  if (isObject(schema.additionalProperties)) return schema.additionalProperties;
  return schema.additionalProperties === true || keepsUnknown(schema) ? true : undefined;
}

const keepsUnknown = (schema: Schema) => schema['x-kubernetes-preserve-unknown-fields'] === true;

/** A declared property; what objects inherit, such as `constructor`, is none. */
export function propertyOf(schema: Schema, name: string): Schema | undefined {
  return schema.properties !== undefined && Object.hasOwn(schema.properties, name)
    ? schema.properties[name]
    : undefined;
}

/** What becomes of a null that the schema does not allow where there is no default: it goes, or stays for validation to refuse. */
export type RefusedNulls = 'go' | 'stay';

/**
 * Fills in defaults where a field is absent, in lists and maps too. A null that the schema does not allow counts as
 * absent: it becomes the default, or goes. The input is left as it is.
 */
export function applyDefaults<T extends JsonObject>(object: T, schema: Schema, nulls: RefusedNulls = 'go'): T {
  return withDefaults(object, schema, nulls) as T;
}

function withDefaults(value: unknown, schema: Schema, nulls: RefusedNulls): unknown {
  if (Array.isArray(value)) {
    const items = schema.items;
    if (items === undefined) return value;
    const filled = value.map((item) =>
      withDefaults(refusedNull(item, items) ? defaultOf(items, null) : item, items, nulls),
    );
    return filled.every((item, i) => item === value[i]) ? value : filled;
  }
  return isObject(value) ? fieldsWithDefaults(value, schema, nulls) : value;
}

function fieldsWithDefaults(value: JsonObject, schema: Schema, nulls: RefusedNulls): JsonObject {
  const filled: JsonObject = {};
  let changed = false;
  const absent = nulls === 'stay' ? null : undefined;
  for (const [name, given] of Object.entries(value)) {
    const known =
      propertyOf(schema, name) ?? (isObject(schema.additionalProperties) ? schema.additionalProperties : undefined);
    const present = known !== undefined && refusedNull(given, known) ? defaultOf(known, absent) : given;
    if (present === undefined) {
      changed = true;
      continue;
    }
    const field = known === undefined ? present : withDefaults(present, known, nulls);
    if (field !== given) changed = true;
    setOwn(filled, name, field);
  }
  for (const [name, known] of Object.entries(schema.properties ?? {})) {
    if (known.default === undefined || Object.hasOwn(filled, name)) continue;
    setOwn(filled, name, withDefaults(defaultOf(known, undefined), known, nulls));
    changed = true;
  }
  return changed ? filled : value;
}

const refusedNull = (value: unknown, schema: Schema) => value === null && schema.nullable !== true;

/** A copy, so that no two objects share a default. */
function defaultOf(schema: Schema, otherwise: unknown): unknown {
  return schema.default === undefined ? otherwise : structuredClone(schema.default);
}
