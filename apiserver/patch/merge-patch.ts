import { ApiError } from '../../resources/meta/api-error.ts';
import { setOwn } from '../../resources/meta/json-reader.ts';
import { isObject, type JsonObject } from '../../resources/meta/object.ts';

/** RFC 7396: fields of the patch replace those of the target, null deletes, objects merge. Both inputs are left as they are. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const merged: JsonObject = {};
  if (isObject(target)) for (const [name, value] of Object.entries(target)) setOwn(merged, name, value);
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete merged[name];
    else setOwn(merged, name, mergePatch(Object.hasOwn(merged, name) ? merged[name] : undefined, value));
  }
  return merged;
}

/** The same for a request: a patch that is not an object is a BadRequest. */
export function applyMergePatch(target: JsonObject, patch: unknown): JsonObject {
  const merged = isObject(patch) ? mergePatch(target, patch) : undefined;
  if (isObject(merged)) return merged;
  throw new ApiError('BadRequest', `error decoding patch: a merge patch must be a JSON object`);
}
