import { isObject, type JsonObject, jsonEqual } from '../../resources/meta/object.ts';

/**
 * The merge patch (RFC 7396) that makes `current` say what `wanted` says and drop what `before` said and `wanted` no longer does. What
 * neither says is left alone. Empty when there is nothing to change. The same patch as kubectl's for kinds that are not its own.
 */
export function threeWayPatch(before: JsonObject, wanted: JsonObject, current: JsonObject): JsonObject {
  return mergePatches(removals(before, wanted), changes(current, wanted));
}

/** Fields of `wanted` that `current` lacks or has otherwise. Nulls are the business of `removals`. */
function changes(current: JsonObject, wanted: JsonObject): JsonObject {
  const out: JsonObject = {};
  for (const [field, value] of Object.entries(wanted)) {
    const has = Object.hasOwn(current, field) ? current[field] : undefined;
    if (value === null || jsonEqual(has, value)) continue;
    if (isObject(value) && isObject(has)) {
      const inner = changes(has, value);
      if (Object.keys(inner).length > 0) out[field] = inner;
    } else {
      const said = withoutNulls(value);
      if (said !== undefined) out[field] = said;
    }
  }
  return out;
}

/** What `before` said and `wanted` no longer says, and what `wanted` newly says is null, as nulls. */
function removals(before: JsonObject, wanted: JsonObject): JsonObject {
  const out: JsonObject = {};
  for (const field of Object.keys(before)) if (!Object.hasOwn(wanted, field)) out[field] = null;
  for (const [field, value] of Object.entries(wanted)) {
    const had = Object.hasOwn(before, field) ? before[field] : undefined;
    if (value === null && had !== null) out[field] = null;
    if (!isObject(value)) continue;
    const inner = removals(isObject(had) ? had : {}, value);
    if (Object.keys(inner).length > 0) out[field] = inner;
  }
  return out;
}

/** Undefined when nothing but nulls was in it; an object written as `{}` is a value. */
function withoutNulls(value: unknown): unknown {
  if (!isObject(value) || Object.keys(value).length === 0) return value;
  const out: JsonObject = {};
  for (const [field, inner] of Object.entries(value)) {
    const said = inner === null ? undefined : withoutNulls(inner);
    if (said !== undefined) out[field] = said;
  }
  return Object.keys(out).length === 0 ? undefined : out;
}

function mergePatches(first: JsonObject, second: JsonObject): JsonObject {
  const out: JsonObject = { ...first };
  for (const [field, value] of Object.entries(second)) {
    const there = out[field];
    out[field] = isObject(there) && isObject(value) ? mergePatches(there, value) : value;
  }
  return out;
}
