import type { Kind } from '../../resources/meta/define-kind.ts';
import { type FieldSet, node } from './field-set.ts';
import type { Manager, Managers } from './managed-fields.ts';
import { fieldType, type MergeType, mergeTypeOf } from './merge-type.ts';
import { fieldName, type PathElement } from './path-element.ts';

/**
 * The managers as the schema of today has them: whoever owned something in a list or map that is atomic now owns the whole of it. The
 * other way needs nothing: what was atomic is owned as a field until its owner applies again. Only users' kinds change under way.
 */
export function underSchema(kind: Kind, managers: Managers): Managers {
  if (kind.origin !== 'user') return managers;
  const type = mergeTypeOf(kind);
  let changed: Map<string, Manager> | undefined;
  for (const [key, manager] of managers) {
    const set = fitted(manager.set, type);
    if (set === manager.set) continue;
    changed ??= new Map(managers);
    changed.set(key, { ...manager, set });
  }
  return changed ?? managers;
}

function fitted(set: FieldSet, type: MergeType | undefined): FieldSet {
  if (type === undefined || set.children.size === 0) return set;
  if (isAtomic(type)) return node(true, new Map());
  let changed: Map<PathElement, FieldSet> | undefined;
  for (const [element, child] of set.children) {
    const below = fitted(child, typeBelow(type, element));
    if (below === child) continue;
    changed ??= new Map(set.children);
    changed.set(element, below);
  }
  return changed === undefined ? set : node(set.member, changed);
}

/** Where the schema leaves the form open, what is owned says itself how it was merged. */
function isAtomic({ map, list, scalar }: MergeType): boolean {
  if (map !== undefined) return list === undefined && scalar === undefined && map.atomic;
  return list?.relation === 'atomic';
}

function typeBelow({ map, list }: MergeType, element: PathElement): MergeType | undefined {
  const name = fieldName(element);
  if (name === undefined) return list?.element;
  return map === undefined ? undefined : fieldType(map, name);
}
