import type { Cause } from '../../resources/meta/api-error.ts';
import { goPlain, goQuote, goSyntax, shownValue, typeName } from './go-format.ts';

export function invalidValue(field: string, value: unknown, detail: string): Cause {
  return { reason: 'FieldValueInvalid', field, message: `Invalid value: ${shownValue(value)}: ${detail}` };
}

export function requiredValue(field: string, detail = ''): Cause {
  return {
    reason: 'FieldValueRequired',
    field,
    message: detail === '' ? 'Required value' : `Required value: ${detail}`,
  };
}

export function duplicateValue(field: string, value: unknown): Cause {
  return { reason: 'FieldValueDuplicate', field, message: `Duplicate value: ${goSyntax(value)}` };
}

export function forbiddenField(field: string, detail: string): Cause {
  return { reason: 'FieldValueForbidden', field, message: `Forbidden: ${detail}` };
}

export function unsupportedValue(field: string, value: unknown, supported: readonly unknown[]): Cause {
  const list = supported.map((item) => goQuote(typeof item === 'string' ? item : goPlain(item))).join(', ');
  return {
    reason: 'FieldValueNotSupported',
    field,
    message: `Unsupported value: ${shownValue(value)}: supported values: ${list}`,
  };
}

export function tooLong(field: string, limit: number, unit = ''): Cause {
  return { reason: 'FieldValueTooLong', field, message: `Too long: may not be longer than ${limit}${unit}` };
}

export function tooMany(field: string, count: number, limit: number): Cause {
  return { reason: 'FieldValueTooMany', field, message: `Too many: ${count}: must have at most ${limit} items` };
}

/** A value of the wrong type or format. `expected` may list several, with commas. */
export function wrongType(field: string, value: unknown, expected: string, shown = typeName(value)): Cause {
  return {
    reason: 'FieldValueTypeInvalid',
    field,
    message: `Invalid value: ${goQuote(shown)}: ${field} in body must be of type ${expected}: ${goQuote(shown)}`,
  };
}
