import { encodeJson } from '../meta/json.ts';
import { jsonEqual, type KubeObject, valueAt } from '../meta/object.ts';
import { type Guard, NO_FENCES } from './guard.ts';

/** Fields that keep the value they were created with. The words are those that GitOps tools look for. */
export function immutable<T extends KubeObject>(...fields: readonly string[]): Guard<T> {
  return {
    name: 'immutable',
    fences: () => NO_FENCES,
    judge({ before, after }) {
      if (before === undefined || after === undefined) return undefined;
      for (const field of fields) {
        const path = field.split('.');
        if (jsonEqual(valueAt(before, path), valueAt(after, path))) continue;
        const value = encodeJson(valueAt(after, path) ?? null);
        return {
          answer: 'Invalid',
          field,
          cause: 'FieldValueInvalid',
          message: `Invalid value: ${value}: field is immutable`,
        };
      }
      return undefined;
    },
  };
}
