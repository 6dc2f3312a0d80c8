import { encodeJson } from '../../resources/meta/json.ts';
import { setOwn } from '../../resources/meta/json-reader.ts';
import { isObject, type JsonObject } from '../../resources/meta/object.ts';
import { LEFT_OUT, rewriteFields } from '../../resources/meta/rewrite-fields.ts';
import type { Schema } from '../../resources/meta/schema.ts';
import { OBJECT_META } from './object-meta-schema.ts';

interface Pruned<T> {
  readonly object: T;
  /** Paths of what was dropped (`spec.bogus`, `spec.parts[0].nope`), sorted: of the first thousand that were met. */
  readonly unknown: readonly string[];
  /** How many more were dropped; absent where all are told. */
  readonly untold?: number;
}

/**
 * Drops every field the schema (of all but apiVersion, kind and metadata) does not name. The input is left as it is;
 * parts in which nothing is dropped are shared with it.
 */
export function pruneUnknown<T extends JsonObject>(object: T, schema: Schema): Pruned<T> {
  const found: Found = { paths: [], untold: 0 };
  const pruned = pruneFields(object, { ...schema, 'x-kubernetes-embedded-resource': true }, '', found) as T;
  const { paths, untold } = found;
  return { object: pruned, unknown: paths.sort(), ...(untold === 0 ? {} : { untold }) };
}

/** More are counted, not told: nobody reads them. */
const MOST_UNKNOWN = 1_000;

interface Found {
  readonly paths: string[];
  untold: number;
}

const NOTHING_KNOWN: Schema = {};
const TYPE_META: Schema = { type: 'string' };

function prune(value: unknown, schema: Schema, path: string, found: Found): unknown {
  if (Array.isArray(value)) {
    const items = schema.items ?? (keepsUnknown(schema) ? undefined : NOTHING_KNOWN);
    if (items === undefined) return value;
    const pruned = value.map((item, i) =>
      typeof item === 'object' ? prune(item, items, `${path}[${i}]`, found) : item,
    );
    return pruned.every((item, i) => item === value[i]) ? value : pruned;
  }
  return isObject(value) ? pruneFields(value, schema, path, found) : value;
}

function pruneFields(value: JsonObject, schema: Schema, path: string, found: Found): JsonObject {
  return rewriteFields(value, (name, field) => {
    const known = knownField(schema, name);
    if (known === undefined) {
      if (found.paths.length < MOST_UNKNOWN) found.paths.push(pathTo(path, name));
      else found.untold++;
      return LEFT_OUT;
    }
    return known === true || typeof field !== 'object' ? field : prune(field, known, pathTo(path, name), found);
  });
}

const pathTo = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`);

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

/** The characters of defaults that are filled into one object: more than the store takes of it. */
const MOST_DEFAULTS = 3 << 20;

/** Defaults that together are larger than any object that can be stored. */
export class TooManyDefaults extends Error {
  constructor() {
    super(`its defaults are longer than ${MOST_DEFAULTS} characters together`);
    this.name = 'TooManyDefaults';
  }
}

/**
 * Fills in defaults where a field is absent, in lists and maps too. A null that the schema does not allow counts as
 * absent: it becomes the default, or goes. The input is left as it is. Throws TooManyDefaults rather than fill in without end.
 */
export function applyDefaults<T extends JsonObject>(object: T, schema: Schema, nulls: RefusedNulls = 'go'): T {
  return new Filling(nulls).value(object, schema) as T;
}

class Filling {
  readonly #nulls: RefusedNulls;
  #left = MOST_DEFAULTS;

  constructor(nulls: RefusedNulls) {
    this.#nulls = nulls;
  }

  value(value: unknown, schema: Schema): unknown {
    if (Array.isArray(value)) return this.#items(value, schema.items);
    return isObject(value) ? this.#fields(value, schema) : value;
  }

  #items(list: readonly unknown[], items: Schema | undefined): readonly unknown[] {
    if (items === undefined) return list;
    const filled = list.map((item) =>
      this.value(refusedNull(item, items) ? this.#defaultOf(items, null) : item, items),
    );
    return filled.every((item, i) => item === list[i]) ? list : filled;
  }

  #fields(value: JsonObject, schema: Schema): JsonObject {
    const absent = this.#nulls === 'stay' ? null : undefined;
    let filled = rewriteFields(value, (name, field) => {
      const known =
        propertyOf(schema, name) ?? (isObject(schema.additionalProperties) ? schema.additionalProperties : undefined);
      const present = known !== undefined && refusedNull(field, known) ? this.#defaultOf(known, absent) : field;
      if (present === undefined) return LEFT_OUT;
      return known === undefined ? present : this.value(present, known);
    });
    for (const [name, known] of defaultedOf(schema)) {
      if (Object.hasOwn(filled, name)) continue;
      if (filled === value) filled = { ...value };
      setOwn(filled, name, this.value(this.#defaultOf(known, undefined), known));
      this.#left -= name.length;
    }
    return filled;
  }

  /** A copy, so that no two objects share a default. */
  #defaultOf(schema: Schema, otherwise: unknown): unknown {
    const value = schema.default;
    if (value === undefined) return otherwise;
    const scalar = typeof value !== 'object' || value === null;
    this.#left -= typeof value === 'string' ? value.length : scalar ? 1 : lengthOf(value);
    if (this.#left < 0) throw new TooManyDefaults();
    return scalar ? value : structuredClone(value);
  }
}

const refusedNull = (value: unknown, schema: Schema) => value === null && schema.nullable !== true;

const defaulted = new WeakMap<Schema, readonly (readonly [name: string, schema: Schema])[]>();

/** The properties of a schema that have defaults. */
function defaultedOf(schema: Schema): readonly (readonly [name: string, schema: Schema])[] {
  if (schema.properties === undefined) return [];
  let found = defaulted.get(schema);
  if (found === undefined) {
    found = Object.entries(schema.properties).filter(([, known]) => known.default !== undefined);
    defaulted.set(schema, found);
  }
  return found;
}

const lengths = new WeakMap<object, number>();

function lengthOf(value: object): number {
  let length = lengths.get(value);
  if (length === undefined) {
    length = encodeJson(value).length;
    lengths.set(value, length);
  }
  return length;
}
