import type { Kind } from '../../resources/meta/define-kind.ts';
import { apiVersionOf } from '../../resources/meta/resource-id.ts';
import { groupsOf, type KindGroup } from './groups.ts';
import { storageVersionHash, subresourcesOf, verbsOf } from './verbs.ts';

interface ServerAddress {
  readonly clientCIDR: string;
  readonly serverAddress: string;
}

/** `/api` (k8s.io/apimachinery/pkg/apis/meta/v1). */
interface APIVersions {
  readonly kind: 'APIVersions';
  readonly versions: readonly string[];
  readonly serverAddressByClientCIDRs: readonly ServerAddress[];
}

interface GroupVersionName {
  readonly groupVersion: string;
  readonly version: string;
}

interface GroupNames {
  readonly name: string;
  readonly versions: readonly GroupVersionName[];
  readonly preferredVersion?: GroupVersionName;
}

/** `/apis`. */
interface APIGroupList {
  readonly kind: 'APIGroupList';
  readonly apiVersion: 'v1';
  readonly groups: readonly GroupNames[];
}

/** `/apis/GROUP`. */
interface APIGroup extends GroupNames {
  readonly kind: 'APIGroup';
  readonly apiVersion: 'v1';
}

/** One row of an APIResourceList; a subresource has no singular name. `group` and `version` stand where they are not those of the list. */
interface APIResource {
  readonly name: string;
  readonly singularName: string;
  readonly namespaced: boolean;
  readonly group?: string;
  readonly version?: string;
  readonly kind: string;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly storageVersionHash?: string;
}

/** `/api/v1` and `/apis/GROUP/VERSION`. */
interface APIResourceList {
  readonly kind: 'APIResourceList';
  readonly apiVersion: 'v1';
  readonly groupVersion: string;
  readonly resources: readonly APIResource[];
}

/** `/api`. `serverAddress` is `host:port` as clients reach it. */
export function apiVersions(kinds: readonly Kind[], serverAddress: string): APIVersions {
  const core = groupsOf(kinds).find((group) => group.name === '');
  return {
    kind: 'APIVersions',
    versions: core?.versions.map((of) => of.version) ?? [],
    serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress }],
  };
}

/** `/apis`: every group but core, ours first. */
export function apiGroupList(kinds: readonly Kind[]): APIGroupList {
  const groups = groupsOf(kinds).filter((group) => group.name !== '');
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: groups.map(namesOf) };
}

/** `/apis/GROUP`. Undefined when no kind is in that group. */
export function apiGroup(kinds: readonly Kind[], name: string): APIGroup | undefined {
  const group = groupsOf(kinds).find((one) => one.name === name);
  if (group === undefined || name === '') return undefined;
  return { kind: 'APIGroup', apiVersion: 'v1', ...namesOf(group) };
}

/** `/api/v1` (group `''`) or `/apis/GROUP/VERSION`. Undefined when no kind is in it. */
export function apiResourceList(kinds: readonly Kind[], group: string, version: string): APIResourceList | undefined {
  const those = kinds.filter((kind) => kind.group === group && kind.version === version);
  if (those.length === 0) return undefined;
  return {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: apiVersionOf({ group, version }),
    resources: those.flatMap(rowsOf),
  };
}

function namesOf(group: KindGroup): GroupNames {
  const versions = group.versions.map((of) => ({ groupVersion: apiVersionOf(of), version: of.version }));
  return {
    name: group.name,
    versions,
    ...(versions[0] === undefined ? {} : { preferredVersion: versions[0] }),
  };
}

function rowsOf(kind: Kind): readonly APIResource[] {
  const main: APIResource = {
    name: kind.plural,
    singularName: kind.singular,
    namespaced: kind.namespaced,
    kind: kind.kind,
    verbs: verbsOf(kind),
    ...(kind.shortNames.length === 0 ? {} : { shortNames: kind.shortNames }),
    ...(kind.categories.length === 0 ? {} : { categories: kind.categories }),
    // What is only asked, such as a review, is not stored.
    ...(kind.verbs.includes('get') ? { storageVersionHash: storageVersionHash(kind) } : {}),
  };
  return [
    main,
    ...subresourcesOf(kind).map(({ name, responseKind, verbs }) => ({
      name: `${kind.plural}/${name}`,
      singularName: '',
      namespaced: kind.namespaced,
      ...(responseKind.group === kind.group && responseKind.version === kind.version
        ? {}
        : { group: responseKind.group, version: responseKind.version }),
      kind: responseKind.kind,
      verbs,
    })),
  ];
}
