import { isObject, type JsonObject, jsonEqual } from '../../resources/meta/object.ts';

/**
 * The merge patch (RFC 7396) that makes `current` say what `wanted` says and drop what `before` said and `wanted` no longer does. What
 * neither says is left alone. Empty when there is nothing to change.
 */
export function threeWayPatch(before: JsonObject, wanted: JsonObject, current: JsonObject): JsonObject {
  return mergePatches(removals(before, wanted), changes(current, wanted));
}

/** Fields of `wanted` that `current` lacks or has otherwise. A wanted null says nothing, since null in a patch removes. */
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

/** What `before` had and `wanted` has not, as nulls. */
function removals(before: JsonObject, wanted: JsonObject): JsonObject {
  const out: JsonObject = {};
  for (const [field, value] of Object.entries(before)) {
    const next = Object.hasOwn(wanted, field) ? wanted[field] : undefined;
    if (next === undefined || (next === null && value !== null)) out[field] = null;
    else if (isObject(value) && isObject(next)) {
      const inner = removals(value, next);
      if (Object.keys(inner).length > 0) out[field] = inner;
    }
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
