import type { Kind } from '../../resources/meta/define-kind.ts';
import type { KubeObject } from '../../resources/meta/object.ts';
import type { Narrowed } from '../cache/resource-cache.ts';
import type { StoredObject } from '../cache/stored-object.ts';
import { fieldText, parseFieldSelector } from '../selectors/field-selector.ts';
import { parseLabelSelector } from '../selectors/label-selector.ts';

/** Which objects a list or watch is about. */
export interface Selection {
  readonly all: boolean;
  matches(object: KubeObject): boolean;
  /** Exact field requirements: label → value. */
  readonly fields: ReadonlyMap<string, string>;
  /** Outside of which nothing matches; undefined: anywhere something may. */
  readonly narrowed: Narrowed | undefined;
}

/** Reads `labelSelector` and `fieldSelector`. What does not parse, and fields that the kind does not offer, are 400. */
export function selectionOf(kind: Kind, query: URLSearchParams): Selection {
  const labels = parseLabelSelector(query.get('labelSelector') ?? '');
  const fields = parseFieldSelector(query.get('fieldSelector') ?? '', kind);
  const exact = fields.requirements.filter(({ operator }) => operator === '=');
  const [first] = exact;
  return {
    all: labels.requirements.length === 0 && fields.requirements.length === 0,
    matches: (object) => labels.matches(object.metadata.labels) && fields.matches(object),
    fields: new Map(exact.map((r) => [r.field, r.value])),
    narrowed: narrowedTo(kind, first),
  };
}

/** Of users' kinds nothing is kept by field: what their objects show changes with their definition. */
function narrowedTo(kind: Kind, requirement: { readonly field: string; readonly value: string } | undefined) {
  if (requirement === undefined || kind.origin === 'user' || kind.view !== undefined) return undefined;
  const { field, value: text } = requirement;
  return { field: { id: field, textOf: (stored: StoredObject) => fieldText(stored.object, field, kind) }, text };
}
