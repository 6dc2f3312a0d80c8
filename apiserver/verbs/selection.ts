import { ApiError } from '../../resources/meta/api-error.ts';
import type { Kind } from '../../resources/meta/define-kind.ts';
import { type KubeObject, valueAt } from '../../resources/meta/object.ts';
import { type FieldSelector, parseFieldSelector } from '../selectors/field-selector.ts';
import { parseLabelSelector } from '../selectors/label-selector.ts';

/** Which objects a list or watch is about. */
export interface Selection {
  readonly all: boolean;
  matches(object: KubeObject): boolean;
  /** Exact field requirements: label → value. */
  readonly fields: ReadonlyMap<string, string>;
}

/** Reads `labelSelector` and `fieldSelector`. Labels of fields that the kind does not offer are 400. */
export function selectionOf(kind: Kind, query: URLSearchParams): Selection {
  const labels = parseLabelSelector(query.get('labelSelector') ?? '');
  const fields = parseFieldSelector(query.get('fieldSelector') ?? '');
  const offered = new Set(['metadata.name', ...(kind.namespaced ? ['metadata.namespace'] : []), ...kind.selectableFields]);
  for (const { field } of fields.requirements) {
    if (!offered.has(field)) throw new ApiError('BadRequest', `field label not supported: ${field}`);
  }
  return {
    all: labels.requirements.length === 0 && fields.requirements.length === 0,
    matches: (object) => labels.matches(object.metadata.labels ?? {}) && fieldsMatch(fields, object),
    fields: new Map(fields.requirements.filter((r) => r.operator === '=').map((r) => [r.field, r.value])),
  };
}

function fieldsMatch(selector: FieldSelector, object: KubeObject): boolean {
  return selector.requirements.every(({ field, operator, value }) => (fieldText(object, field) === value) === (operator === '='));
}

function fieldText(object: KubeObject, field: string): string {
  const value = valueAt(object, field.split('.'));
  if (value !== undefined && value !== null && typeof value !== 'object') return String(value);
  // The older Event selector names its source by the component alone.
  if (field === 'source') return fieldText(object, 'source.component');
  return '';
}
