import type { Cause } from './api-error.ts';

/*
 * What can be wrong with a field, in the words Kubernetes has for it. Values are shown as JSON.
 */

export function invalidField(field: string, value: unknown, detail: string): Cause {
  return { reason: 'FieldValueInvalid', field, message: `Invalid value: ${JSON.stringify(value)}: ${detail}` };
}

export function requiredField(field: string): Cause {
  return { reason: 'FieldValueRequired', field, message: 'Required value' };
}

export function forbiddenChange(field: string, detail: string): Cause {
  return { reason: 'FieldValueForbidden', field, message: `Forbidden: ${detail}` };
}

export function tooManyBytes(field: string, limit: number): Cause {
  return { reason: 'FieldValueTooLong', field, message: `Too long: must have at most ${limit} bytes` };
}
