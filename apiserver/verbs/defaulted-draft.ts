import { ApiError } from '../../resources/meta/api-error.ts';
import type { Kind } from '../../resources/meta/define-kind.ts';
import type { JsonObject } from '../../resources/meta/object.ts';
import { applyDefaults, type RefusedNulls, TooManyDefaults } from '../admission/structural.ts';

/** What a client wishes for with the defaults of its kind. Throws 413 when they are larger than what can be stored. */
export function defaultedDraft(kind: Kind, draft: JsonObject, nulls: RefusedNulls): JsonObject {
  try {
    return applyDefaults(draft, kind.schema, nulls);
  } catch (error) {
    if (!(error instanceof TooManyDefaults)) throw error;
    throw new ApiError('RequestEntityTooLarge', `the object is too large to be stored: ${error.message}`);
  }
}
