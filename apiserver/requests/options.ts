import { ApiError, type Cause, invalid } from '../../resources/meta/api-error.ts';
import type { FieldValidation } from '../admission/field-validation.ts';

const OPTIONS_GROUP = 'meta.k8s.io';

/** 422 about a query parameter, as the real server words it: `ListOptions.meta.k8s.io "" is invalid: …`. */
export function invalidOption(kind: string, field: string, reason: string, message: string): ApiError {
  const causes: Cause[] = [{ reason, message, field }];
  return invalid({ group: OPTIONS_GROUP, kind }, '', causes);
}

/** A Go boolean (strconv.ParseBool). Anything else is false, as the real server's conversion has it: only `0` and `false` are. */
export function booleanOption(query: URLSearchParams, name: string): boolean {
  const text = query.get(name);
  if (text === null) return false;
  return !['0', 'f', 'F', 'false', 'False', 'FALSE'].includes(text);
}

/** A whole number, or undefined when absent. */
export function integerOption(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null || text === '') return undefined;
  if (!/^-?[0-9]{1,18}$/.test(text)) {
    throw new ApiError('BadRequest', `strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
  }
  return Number(text);
}

/** A resourceVersion as a number: undefined when absent or empty. */
export function resourceVersionOption(text: string | null, kind = 'ListOptions'): number | undefined {
  if (text === null || text === '') return undefined;
  if (!/^[0-9]{1,16}$/.test(text)) {
    throw invalidOption(
      kind,
      'resourceVersion',
      'FieldValueInvalid',
      `Invalid value: ${JSON.stringify(text)}: strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`,
    );
  }
  return Number(text);
}

/** `dryRun`: absent, or exactly `All`. */
export function dryRunOption(values: readonly string[], kind: string): boolean {
  for (const value of values) {
    if (value !== 'All' && value !== '') {
      throw invalidOption(
        kind,
        'dryRun',
        'FieldValueNotSupported',
        `Unsupported value: ${JSON.stringify(value)}: supported values: "All"`,
      );
    }
  }
  return values.includes('All');
}

/** `fieldValidation`: Warn when absent. */
export function fieldValidationOption(query: URLSearchParams, kind: string): FieldValidation {
  const text = query.get('fieldValidation') ?? '';
  if (text === '') return 'Warn';
  if (text === 'Strict' || text === 'Warn' || text === 'Ignore') return text;
  throw invalidOption(
    kind,
    'fieldValidation',
    'FieldValueNotSupported',
    `Unsupported value: ${JSON.stringify(text)}: supported values: "Ignore", "Strict", "Warn"`,
  );
}

/** `fieldManager`: at most 128 printable characters. */
export function fieldManagerOption(query: URLSearchParams, kind: string): string | undefined {
  const text = query.get('fieldManager') ?? undefined;
  if (text === undefined || text === '') return undefined;
  if (text.length > 128) {
    throw invalidOption(kind, 'fieldManager', 'FieldValueTooLong', 'Too long: may not be longer than 128');
  }
  if (!/^[\p{L}\p{M}\p{N}\p{P}\p{S} ]*$/u.test(text)) {
    throw invalidOption(
      kind,
      'fieldManager',
      'FieldValueInvalid',
      `Invalid value: ${JSON.stringify(text)}: should only contain printable characters`,
    );
  }
  return text;
}
