import { ApiError } from '../../resources/meta/api-error.ts';
import { YAML_ERRORS } from '../requests/yaml.ts';

export const FIELD_VALIDATION = ['Strict', 'Warn', 'Ignore'] as const;
export type FieldValidation = (typeof FIELD_VALIDATION)[number];

interface FieldFindings {
  /** What is to be said of fields given more than once: a text for each, or one for a YAML body. */
  readonly duplicates: readonly string[];
  /** Paths no schema knows. */
  readonly unknown: readonly string[];
  /** How many more there are. */
  readonly untold?: number;
}

/**
 * What comes of fields given twice or unknown: with Strict a BadRequest naming all of them, with Warn the texts of the
 * warnings, with Ignore nothing. `prefix` says where they stood, such as `json patch `.
 */
export function judgeFields(
  kind: { readonly kind: string; readonly version: string },
  findings: FieldFindings,
  directive: FieldValidation,
  prefix = '',
): readonly string[] {
  if (directive === 'Ignore') return [];
  const texts = [
    ...findings.duplicates.map((text) => prefix + text),
    ...findings.unknown.map((path) => `${prefix}unknown field "${path}"`),
    ...(findings.untold === undefined ? [] : [`${prefix}${findings.untold} more unknown fields`]),
  ];
  if (directive === 'Strict' && texts.length > 0) {
    throw undecodable(kind, `strict decoding error: ${texts.join(', ')}`);
  }
  return texts.flatMap((text) => (text.startsWith(YAML_ERRORS) ? text.slice(YAML_ERRORS.length).split('\n  ') : text));
}

/** The refusal of a body that does not decode as its kind. */
export function undecodable(kind: { readonly kind: string; readonly version: string }, why: string): ApiError {
  return new ApiError(
    'BadRequest',
    `${kind.kind} in version "${kind.version}" cannot be handled as a ${kind.kind}: ${why}`,
  );
}
