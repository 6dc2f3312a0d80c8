import type { Kind } from '../../resources/meta/define-kind.ts';
import { isObject } from '../../resources/meta/object.ts';
import type { Schema } from '../../resources/meta/schema.ts';
import { OBJECT_META } from '../admission/object-meta-schema.ts';

/** How values of one place merge. A place whose schema leaves the shape open has more than one of the three. */
export interface MergeType {
  readonly map?: MapType;
  readonly scalar?: ScalarType;
  readonly list?: ListType;
}

export type ScalarType = 'string' | 'numeric' | 'boolean' | 'any';

export interface MapType {
  /** Owned and replaced as a whole. */
  readonly atomic: boolean;
  readonly fields: ReadonlyMap<string, MergeType>;
  /** The type of other fields; undefined where there may be none. */
  readonly element: MergeType | undefined;
}

export interface ListType {
  readonly relation: 'atomic' | 'set' | 'map';
  readonly keys: readonly string[];
  /** Defaults of key fields. */
  readonly keyDefaults: ReadonlyMap<string, unknown>;
  readonly element: MergeType;
}

/** Where no schema says anything: maps merge field by field, lists are whole, at every depth. */
const DEDUCED = deduced();

function deduced(): MergeType {
  const type: { map?: MapType; scalar: ScalarType; list?: ListType } = { scalar: 'any' };
  type.map = { atomic: false, fields: new Map(), element: type };
  type.list = { relation: 'atomic', keys: [], keyDefaults: new Map(), element: type };
  return type;
}

const known = new WeakMap<Schema, MergeType>();

/** The type of whole objects of a kind, metadata and all. */
export function mergeTypeOf(kind: Pick<Kind, 'schema'>): MergeType {
  const kept = known.get(kind.schema);
  if (kept !== undefined) return kept;
  const type = typeOf({ ...kind.schema, type: 'object', 'x-kubernetes-embedded-resource': true });
  known.set(kind.schema, type);
  return type;
}

function typeOf(schema: Schema): MergeType {
  if (schema['x-kubernetes-int-or-string'] === true) return { scalar: 'any' };
  switch (schema.type) {
    case 'object':
      return { map: mapType(schema) };
    case 'array':
      return { list: listType(schema) };
    case 'string':
      return { scalar: 'string' };
    case 'integer':
    case 'number':
      return { scalar: 'numeric' };
    case 'boolean':
      return { scalar: 'boolean' };
    case undefined:
      return schema.properties === undefined ? DEDUCED : { ...DEDUCED, map: mapType(schema) };
    default:
      throw new Error(`unhandled type ${schema.type satisfies never}`);
  }
}

const TYPE_META: Schema = { type: 'string' };

function mapType(schema: Schema): MapType {
  const embedded = schema['x-kubernetes-embedded-resource'] === true;
  const properties: Readonly<Record<string, Schema>> = {
    ...schema.properties,
    ...(embedded ? { apiVersion: TYPE_META, kind: TYPE_META, metadata: OBJECT_META } : {}),
  };
  return {
    atomic: schema['x-kubernetes-map-type'] === 'atomic',
    fields: new Map(Object.entries(properties).map(([name, child]) => [name, typeOf(child)])),
    element: elementType(schema),
  };
}

/** What fields that are not named may be: of an object that names none, anything. */
function elementType(schema: Schema): MergeType | undefined {
  if (isObject(schema.additionalProperties)) return typeOf(schema.additionalProperties);
  const open =
    schema.additionalProperties === true ||
    schema['x-kubernetes-preserve-unknown-fields'] === true ||
    Object.keys(schema.properties ?? {}).length === 0;
  return open ? DEDUCED : undefined;
}

function listType(schema: Schema): ListType {
  const items = schema.items ?? {};
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  const defaults = keys.flatMap((key): [string, unknown][] => {
    const value = items.properties?.[key]?.default;
    return value === undefined ? [] : [[key, value]];
  });
  return {
    relation: schema['x-kubernetes-list-type'] ?? 'atomic',
    keys,
    keyDefaults: new Map(defaults),
    element: typeOf(items),
  };
}

/** Which of the three a value is judged by. A null takes whatever form there is. */
export type Form =
  | { readonly form: 'map'; readonly type: MapType }
  | { readonly form: 'scalar'; readonly type: ScalarType }
  | { readonly form: 'list'; readonly type: ListType };

export function formOf({ map, scalar, list }: MergeType, value: unknown): Form {
  if (isObject(value) && map !== undefined) return { form: 'map', type: map };
  if (Array.isArray(value) && list !== undefined) return { form: 'list', type: list };
  if (isScalar(value) && scalar !== undefined) return { form: 'scalar', type: scalar };
  if (map !== undefined) return { form: 'map', type: map };
  if (scalar !== undefined) return { form: 'scalar', type: scalar };
  if (list !== undefined) return { form: 'list', type: list };
  throw new Error('a merge type without a form');
}

export const isScalar = (value: unknown): boolean => value !== undefined && value !== null && typeof value !== 'object';

/** The type of a field of a map; undefined where there may be none of that name. */
export const fieldType = (map: MapType, name: string): MergeType | undefined => map.fields.get(name) ?? map.element;
