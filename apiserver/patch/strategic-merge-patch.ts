import { ApiError } from '../../resources/meta/api-error.ts';
import { encodeJson } from '../../resources/meta/json.ts';
import { setOwn } from '../../resources/meta/json-reader.ts';
import { isObject, type JsonObject, jsonEqual } from '../../resources/meta/object.ts';
import type { Schema } from '../../resources/meta/schema.ts';

const DIRECTIVE = '$patch';
const RETAIN_KEYS = '$retainKeys';
const SET_ORDER = '$setElementOrder/';
const DELETE_FROM = '$deleteFromPrimitiveList/';

/** How a list merges: items by a key, values as a set, or (undefined) replaced whole. */
type ListRule = { readonly by: string } | 'values' | undefined;

/** Lists of built-in kinds that merge without their schema saying so, by their path. */
export const LIST_RULES: Readonly<Record<string, ListRule>> = {
  'metadata.ownerReferences': { by: 'uid' },
  'metadata.finalizers': 'values',
  'status.conditions': { by: 'type' },
  secrets: { by: 'name' },
};

/**
 * Kubernetes' strategic merge patch: maps merge, null deletes, lists merge by key or value where the schema or the table
 * says so, and `$patch`, `$retainKeys`, `$setElementOrder/…` and `$deleteFromPrimitiveList/…` direct it. Inputs are left
 * as they are. Throws BadRequest on a patch that makes no sense.
 */
export function applyStrategicMergePatch(target: JsonObject, patch: unknown, schema: Schema): JsonObject {
  if (!isObject(patch)) throw badPatch('a strategic merge patch must be a JSON object');
  return mergeMap(target, patch, schema, '') ?? {};
}

/** The merged map, or undefined when the patch deletes it. */
function mergeMap(
  target: JsonObject,
  patch: JsonObject,
  schema: Schema | undefined,
  path: string,
): JsonObject | undefined {
  const directive = patch[DIRECTIVE];
  if (directive === 'delete') return undefined;
  if (directive !== undefined && directive !== 'replace' && directive !== 'merge') {
    throw badPatch(`Unknown patch type found: ${String(directive)}`);
  }
  const merged: JsonObject = {};
  if (directive !== 'replace') for (const [name, value] of retained(target, patch)) setOwn(merged, name, value);
  for (const [name, value] of Object.entries(patch)) {
    if (!name.startsWith('$')) mergeField(merged, name, value, patch, schema, path);
  }
  for (const name of fieldsOfDirectives(patch)) {
    if (!Object.hasOwn(patch, name)) mergeField(merged, name, [], patch, schema, path);
  }
  return merged;
}

function mergeField(
  merged: JsonObject,
  name: string,
  value: unknown,
  patch: JsonObject,
  schema: Schema | undefined,
  path: string,
): void {
  const at = path === '' ? name : `${path}.${name}`;
  const child = childOf(schema, name);
  const before = Object.hasOwn(merged, name) ? merged[name] : undefined;
  const listed = Array.isArray(value) ? mergeList(before, value, child, at, directivesOf(patch, name)) : value;
  const after = isObject(value) ? mergeMap(isObject(before) ? before : {}, value, child, at) : listed;
  // A list that only directives spoke of, and that is not there, is not made.
  const noList = Array.isArray(after) && after.length === 0 && before === undefined && !Object.hasOwn(patch, name);
  if (after === null || after === undefined || noList) delete merged[name];
  else setOwn(merged, name, after);
}

function childOf(schema: Schema | undefined, name: string): Schema | undefined {
  if (schema?.properties !== undefined && Object.hasOwn(schema.properties, name)) return schema.properties[name];
  return isObject(schema?.additionalProperties) ? schema.additionalProperties : undefined;
}

/** With `$retainKeys`, only the fields it lists stay; the patch may set no other. */
function retained(target: JsonObject, patch: JsonObject): [string, unknown][] {
  const keys = patch[RETAIN_KEYS];
  if (keys === undefined) return Object.entries(target);
  if (!Array.isArray(keys)) throw badPatch(`${RETAIN_KEYS} must be a list`);
  const stray = Object.entries(patch).find(
    ([name, value]) => !name.startsWith('$') && value !== null && !keys.includes(name),
  );
  if (stray !== undefined) throw badPatch(`${RETAIN_KEYS} does not list ${stray[0]}, which the patch sets`);
  return Object.entries(target).filter(([name]) => keys.includes(name));
}

interface ListDirectives {
  readonly order: readonly unknown[];
  readonly deleted: readonly unknown[];
}

function directivesOf(patch: JsonObject, name: string): ListDirectives {
  return { order: listOf(patch, SET_ORDER + name), deleted: listOf(patch, DELETE_FROM + name) };
}

function listOf(patch: JsonObject, name: string): readonly unknown[] {
  const list = Object.hasOwn(patch, name) ? patch[name] : [];
  if (!Array.isArray(list)) throw badPatch(`${name} must be a list`);
  return list;
}

function fieldsOfDirectives(patch: JsonObject): Set<string> {
  const fields = new Set<string>();
  for (const name of Object.keys(patch)) {
    for (const prefix of [SET_ORDER, DELETE_FROM]) if (name.startsWith(prefix)) fields.add(name.slice(prefix.length));
  }
  return fields;
}

function mergeList(
  before: unknown,
  patch: readonly unknown[],
  schema: Schema | undefined,
  path: string,
  directives: ListDirectives,
): unknown[] {
  const existing: readonly unknown[] = Array.isArray(before) ? before : [];
  const rule = listRule(schema, path);
  if (rule === undefined) return patch.filter((item) => !isDirective(item)).map(withoutDirectives);
  if (rule === 'values') {
    const gone = (item: unknown) => directives.deleted.some((each) => jsonEqual(each, item));
    const kept = existing.filter((item) => !gone(item));
    const added = patch.filter((item) => !kept.some((each) => jsonEqual(each, item)));
    return ordered([...kept, ...added], existing, directives.order.length > 0 ? directives.order : patch, encodeJson);
  }
  const { by } = rule;
  const replaces = patch.some((item) => isDirective(item) && isObject(item) && item[DIRECTIVE] === 'replace');
  const merged = mergeItems(replaces ? [] : existing, patch, by, schema?.items, path);
  const keyOf = (item: unknown) => encodeJson(isObject(item) ? item[by] : item);
  return ordered(merged, existing, directives.order.length > 0 ? directives.order : patch, keyOf);
}

function mergeItems(
  existing: readonly unknown[],
  patch: readonly unknown[],
  by: string,
  items: Schema | undefined,
  path: string,
): unknown[] {
  const merged = [...existing];
  for (const item of patch) {
    if (isObject(item) && isDirective(item)) continue;
    if (!isObject(item) || item[by] === undefined)
      throw badPatch(`map: ${encodeJson(item)} does not contain declared merge key: ${by}`);
    const at = merged.findIndex((each) => isObject(each) && jsonEqual(each[by], item[by]));
    const before = merged[at];
    const after = mergeMap(isObject(before) ? before : {}, item, items, path);
    if (after === undefined) {
      if (at >= 0) merged.splice(at, 1);
    } else if (at >= 0) merged[at] = after;
    else merged.push(after);
  }
  return merged;
}

/** An item that is nothing but `$patch: replace` speaks of the whole list. */
function isDirective(item: unknown): boolean {
  return isObject(item) && item[DIRECTIVE] === 'replace' && Object.keys(item).length === 1;
}

/** New values may hold directives meant for merging; none may be stored. */
function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDirectives);
  return isObject(value) ? (mergeMap({}, value, undefined, '') ?? {}) : value;
}

function listRule(schema: Schema | undefined, path: string): ListRule {
  switch (schema?.['x-kubernetes-list-type']) {
    case 'map': {
      const [by, ...more] = schema['x-kubernetes-list-map-keys'] ?? [];
      return by === undefined || more.length > 0 ? undefined : { by };
    }
    case 'set':
      return 'values';
    default:
      return Object.hasOwn(LIST_RULES, path) ? LIST_RULES[path] : undefined;
  }
}

/**
 * Items the order names stand in its order, the others in that of the list as it was. Between the two the list as it was decides, and what
 * is new goes before what is not named: as Kubernetes merges them.
 */
function ordered(
  items: readonly unknown[],
  existing: readonly unknown[],
  order: readonly unknown[],
  keyOf: (item: unknown) => string,
): unknown[] {
  const rank = new Map(order.map((item, i) => [keyOf(item), i]));
  const was = new Map(existing.map((item, i) => [keyOf(item), i]));
  const rankOf = (item: unknown) => rank.get(keyOf(item)) ?? 0;
  const named = items.filter((item) => rank.has(keyOf(item))).sort((a, b) => rankOf(a) - rankOf(b));
  const others = items.filter((item) => !rank.has(keyOf(item)));
  const merged: unknown[] = [];
  for (const item of named) {
    const place = was.get(keyOf(item)) ?? -1;
    while (others.length > 0 && (was.get(keyOf(others[0])) ?? 0) < place) merged.push(others.shift());
    merged.push(item);
  }
  return [...merged, ...others];
}

function badPatch(why: string): ApiError {
  return new ApiError('BadRequest', `error applying strategic merge patch: ${why}`);
}
