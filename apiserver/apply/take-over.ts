import type { Kind } from '../../resources/meta/define-kind.ts';
import type { Comparison } from './compare.ts';
import type { Conflict } from './conflicts.ts';
import { difference, type FieldSet, intersection, isEmpty, setOf, union, withoutTop } from './field-set.ts';
import type { Manager, Managers } from './managed-fields.ts';
import { fieldElement, type PathElement } from './path-element.ts';

/** What of a comparison or a set a route does not write: it writes the status alone, or all but it, where a kind has the two apart, or of both. */
export function ignoredFields({ status, joint }: Kind, subresource: string | undefined): readonly PathElement[] {
  if (!status || (subresource !== undefined && Object.hasOwn(joint, subresource))) return [];
  return subresource === 'status' ? [fieldElement('metadata'), fieldElement('spec')] : [fieldElement('status')];
}

export function withoutFields(comparison: Comparison, ignored: readonly PathElement[]): Comparison {
  return {
    added: withoutTop(comparison.added, ignored),
    modified: withoutTop(comparison.modified, ignored),
    removed: withoutTop(comparison.removed, ignored),
  };
}

const metadata = (...names: readonly string[]) => names.map((name) => [fieldElement('metadata'), fieldElement(name)]);

/** Fields nobody owns: they are the object's identity, or the server's own. */
const UNTRACKED = setOf(
  [fieldElement('apiVersion')],
  [fieldElement('kind')],
  [fieldElement('metadata')],
  ...metadata('name', 'namespace', 'creationTimestamp', 'selfLink', 'uid', 'clusterName', 'generation'),
  ...metadata('managedFields', 'resourceVersion'),
);

export const tracked = (set: FieldSet): FieldSet => difference(set, UNTRACKED);

/** The fields that others own of what a change adds or alters, in the order of their managers. */
export function conflictsOf(managers: Managers, self: string, { added, modified }: Comparison): Conflict[] {
  const taken = union(modified, added);
  return [...managers]
    .filter(([key]) => key !== self)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, owner]) => ({ owner, fields: intersection(owner.set, taken) }))
    .filter(({ fields }) => !isEmpty(fields));
}

/** The managers after a change: others lose what it added, altered or removed. Those left with nothing are gone. */
export function afterChange(
  managers: Managers,
  self: string,
  { added, modified, removed }: Comparison,
): Map<string, Manager> {
  const lost = union(union(modified, added), removed);
  const left = new Map<string, Manager>();
  for (const [key, manager] of managers) {
    const set = key === self ? manager.set : difference(manager.set, lost);
    if (!isEmpty(set)) left.set(key, set === manager.set ? manager : { ...manager, set });
  }
  return left;
}
