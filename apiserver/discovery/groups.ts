import { compareVersions } from '../../resources/meta/compare-versions.ts';
import { COPPICE_GROUP, type Kind } from '../../resources/meta/define-kind.ts';
import { entry } from '../../resources/meta/map-entry.ts';

/** The kinds of one version of a group, in the order they were registered. */
interface GroupVersionKinds {
  readonly group: string;
  readonly version: string;
  readonly kinds: readonly Kind[];
}

/** A group with its versions, the preferred one first. */
export interface KindGroup {
  readonly name: string;
  readonly versions: readonly GroupVersionKinds[];
}

/**
 * The groups of some kinds. Ours comes first, so that `kubectl get leases` means ours; the rest by name.
 * Core is the group with the empty name.
 */
export function groupsOf(kinds: readonly Kind[]): readonly KindGroup[] {
  const groups = new Map<string, Map<string, Kind[]>>();
  for (const kind of kinds) {
    const versions = entry(groups, kind.group, () => new Map<string, Kind[]>());
    entry(versions, kind.version, () => []).push(kind);
  }
  return [...groups]
    .map(([name, versions]) => ({
      name,
      versions: [...versions]
        .map(([version, those]) => ({ group: name, version, kinds: those }))
        .sort((a, b) => compareVersions(a.version, b.version)),
    }))
    .sort((a, b) => rank(a.name) - rank(b.name) || (a.name < b.name ? -1 : 1));
}

const rank = (group: string): number => (group === COPPICE_GROUP ? 0 : 1);
