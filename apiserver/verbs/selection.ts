import type { Kind } from '../../resources/meta/define-kind.ts';
import type { KubeObject } from '../../resources/meta/object.ts';
import { parseFieldSelector } from '../selectors/field-selector.ts';
import { parseLabelSelector } from '../selectors/label-selector.ts';

/** Which objects a list or watch is about. */
export interface Selection {
  readonly all: boolean;
  matches(object: KubeObject): boolean;
  /** Exact field requirements: label → value. */
  readonly fields: ReadonlyMap<string, string>;
}

/** Reads `labelSelector` and `fieldSelector`. What does not parse, and fields that the kind does not offer, are 400. */
export function selectionOf(kind: Kind, query: URLSearchParams): Selection {
  const labels = parseLabelSelector(query.get('labelSelector') ?? '');
  const fields = parseFieldSelector(query.get('fieldSelector') ?? '', kind);
  return {
    all: labels.requirements.length === 0 && fields.requirements.length === 0,
    matches: (object) => labels.matches(object.metadata.labels) && fields.matches(object),
    fields: new Map(fields.requirements.filter((r) => r.operator === '=').map((r) => [r.field, r.value])),
  };
}
