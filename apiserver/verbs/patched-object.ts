import { ApiError, invalid } from '../../resources/meta/api-error.ts';
import type { Kind } from '../../resources/meta/define-kind.ts';
import { encodeJson } from '../../resources/meta/json.ts';
import type { JsonObject } from '../../resources/meta/object.ts';
import type { FieldValidation } from '../admission/field-validation.ts';
import { checkedType, type SentObject } from './body.ts';
import { knownFields } from './next-object.ts';

/** What was odd about the patch itself, as the texts of strict errors. */
interface PatchFindings {
  readonly directive: FieldValidation;
  readonly odd: readonly string[];
}

/**
 * A patched document as an object of its kind, with the warnings of what no schema knows. Throws `Invalid` about the patch when it is none, or
 * when it has strict errors that the request wants refused: the caller's body was well formed, its result is not.
 */
export function patchedObject(
  kind: Kind,
  patched: JsonObject,
  { directive, odd }: PatchFindings,
): { readonly object: SentObject['object']; readonly warnings: readonly string[] } {
  const { object, warnings } = asPatch(patched, () => {
    const typed = checkedType(patched, kind);
    return knownFields(kind, typed, [], directive === 'Strict' ? 'Warn' : directive);
  });
  const texts = directive === 'Ignore' ? [] : [...odd, ...warnings];
  if (directive === 'Strict' && texts.length > 0) throw unfit(patched, `strict decoding error: ${texts.join(', ')}`);
  return { object, warnings: texts };
}

/** What a patched document is read as; what is wrong with its form is wrong with the patch. */
export function asPatch<T>(patched: JsonObject, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ApiError) || error.reason !== 'BadRequest') throw error;
    throw unfit(patched, error.message);
  }
}

function unfit(patched: JsonObject, why: string): ApiError {
  const message = `Invalid value: ${JSON.stringify(encodeJson(patched))}: ${why}`;
  return invalid({ group: '', kind: '' }, '', [{ reason: 'FieldValueInvalid', field: 'patch', message }]);
}
