import { ApiError } from '../../resources/meta/api-error.ts';
import type { Kind } from '../../resources/meta/define-kind.ts';
import { type JsonObject, valueAt } from '../../resources/meta/object.ts';

/** One condition on a field's text. */
interface FieldRequirement {
  readonly field: string;
  readonly operator: '=' | '!=';
  readonly value: string;
}

/** A field selector as it stands in a query: every requirement must hold. */
interface FieldSelectorQuery {
  readonly text: string;
  readonly requirements: readonly FieldRequirement[];
  matches(object: JsonObject): boolean;
  /** The one value a field must have, when the selector says so. */
  exact(field: string): string | undefined;
}

/**
 * Parses `field=value`, `==`, `!=` and comma-joined lists of them; in values `\,`, `\=` and `\\` stand for the characters.
 * Throws BadRequest for what does not parse and for fields the kind cannot be selected by.
 */
export function parseFieldSelector(text: string, kind: Selectable): FieldSelectorQuery {
  const requirements = termsOf(text).map((term) => requirementOf(term, text));
  for (const { field } of requirements) {
    if (!isSelectable(field, kind)) throw new ApiError('BadRequest', `field label not supported: ${field}`);
  }
  return {
    text,
    requirements,
    matches: (object) =>
      requirements.every(
        ({ field, operator, value }) => (fieldText(object, field, kind) === value) === (operator === '='),
      ),
    exact: (field) => requirements.find((each) => each.field === field && each.operator === '=')?.value,
  };
}

type Selectable = Pick<Kind, 'selectableFields'> & Partial<Pick<Kind, 'selectablePaths'>>;

function isSelectable(field: string, kind: Selectable): boolean {
  return field === 'metadata.name' || field === 'metadata.namespace' || kind.selectableFields.includes(field);
}

/** What a selector compares of an object: the text of a field. */
export function fieldText(object: JsonObject, field: string, { selectablePaths }: Selectable): string {
  for (const path of selectablePaths?.[field] ?? [field]) {
    const text = textAt(object, path);
    if (text !== '') return text;
  }
  return '';
}

/** Scalars as their text; what is absent, and what has no text of its own, is empty. */
function textAt(object: JsonObject, field: string): string {
  const value = valueAt(object, field.split('.'));
  return value === undefined || value === null || typeof value === 'object' ? '' : String(value);
}

/** Parts between commas that are not escaped. Empty parts are passed over. */
function termsOf(text: string): string[] {
  const terms: string[] = [];
  let term = '';
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (c === '\\') {
      term += text.slice(i, i + 2);
      i++;
    } else if (c === ',') {
      terms.push(term);
      term = '';
    } else {
      term += c;
    }
  }
  return [...terms, term].filter((each) => each !== '');
}

function requirementOf(term: string, text: string): FieldRequirement {
  const match = /^((?:[^\\=!]|\\[\s\S]|!(?!=))*)(==|!=|=)([\s\S]*)$/.exec(term);
  if (match === null) {
    throw new ApiError('BadRequest', `invalid selector: '${text}'; can't understand '${term}'`);
  }
  const [, field = '', operator, value = ''] = match;
  return { field, operator: operator === '!=' ? '!=' : '=', value: unescaped(value) };
}

function unescaped(value: string): string {
  return value.replace(/\\([\s\S])|\\$|[,=]/g, (all: string, escaped: string | undefined) => {
    if (escaped === '\\' || escaped === ',' || escaped === '=') return escaped;
    if (all === '=' || all === ',')
      throw new ApiError('BadRequest', `invalid field selector: unescaped character in field selector value: '${all}'`);
    throw new ApiError('BadRequest', `invalid field selector: invalid escape sequence: ${all}`);
  });
}
