import type { Kind } from '../../resources/meta/define-kind.ts';
import { groupsOf, type KindGroup } from './groups.ts';
import { type Subresource, subresourcesOf, verbsOf } from './verbs.ts';

/** The versions of apidiscovery.k8s.io a client may ask for. */
export type AggregatedVersion = 'v2' | 'v2beta1';

/** The content type decides for clients whether discovery is aggregated, so it must be answered exactly. */
export const AGGREGATED_CONTENT_TYPE: Readonly<Record<AggregatedVersion, string>> = {
  v2: 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList',
  v2beta1: 'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList',
};

interface ResponseKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

interface AggregatedResource {
  readonly resource: string;
  readonly responseKind: ResponseKind;
  readonly scope: 'Namespaced' | 'Cluster';
  readonly singularResource: string;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly subresources?: readonly {
    readonly subresource: string;
    readonly responseKind: ResponseKind;
    readonly verbs: readonly string[];
  }[];
}

/** APIGroupDiscoveryList (k8s.io/api/apidiscovery). */
interface AggregatedDiscovery {
  readonly kind: 'APIGroupDiscoveryList';
  readonly apiVersion: `apidiscovery.k8s.io/${AggregatedVersion}`;
  readonly metadata: Readonly<Record<string, never>>;
  readonly items: readonly {
    /** A group was made at no time; Go writes that out. */
    readonly metadata: { readonly name?: string; readonly creationTimestamp: null };
    readonly versions: readonly {
      readonly version: string;
      /** In v2 always, in v2beta1 never: servers that speak only that have none. */
      readonly freshness?: 'Current';
      readonly resources: readonly AggregatedResource[];
    }[];
  }[];
}

/** `/api`: the core group, without a name. */
export function aggregatedCore(kinds: readonly Kind[], version: AggregatedVersion = 'v2'): AggregatedDiscovery {
  return listOf(
    groupsOf(kinds).filter((group) => group.name === ''),
    version,
  );
}

/** `/apis`: every group but core, ours first. */
export function aggregatedGroups(kinds: readonly Kind[], version: AggregatedVersion = 'v2'): AggregatedDiscovery {
  return listOf(
    groupsOf(kinds).filter((group) => group.name !== ''),
    version,
  );
}

function listOf(groups: readonly KindGroup[], version: AggregatedVersion): AggregatedDiscovery {
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: `apidiscovery.k8s.io/${version}`,
    metadata: {},
    items: groups.map((group) => ({
      metadata: { ...(group.name === '' ? {} : { name: group.name }), creationTimestamp: null },
      versions: group.versions.map((of) => ({
        version: of.version,
        ...(version === 'v2' ? { freshness: 'Current' as const } : {}),
        resources: inOrder(of.kinds).map(resourceOf),
      })),
    })),
  };
}

/** Ours and Kubernetes' kinds as registered; users' by name, since the order they were defined in means nothing after a restart. */
function inOrder(kinds: readonly Kind[]): readonly Kind[] {
  const rank = ({ origin, plural }: Kind) => (origin === 'user' ? plural : '');
  return [...kinds].sort((a, b) => (rank(a) < rank(b) ? -1 : rank(a) > rank(b) ? 1 : 0));
}

function resourceOf(kind: Kind): AggregatedResource {
  const subresources = subresourcesOf(kind);
  return {
    resource: kind.plural,
    responseKind: { group: kind.group, version: kind.version, kind: kind.kind },
    scope: kind.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: kind.singular,
    verbs: verbsOf(kind),
    ...(kind.shortNames.length === 0 ? {} : { shortNames: kind.shortNames }),
    ...(kind.categories.length === 0 ? {} : { categories: kind.categories }),
    ...(subresources.length === 0 ? {} : { subresources: subresources.map(subresourceRow) }),
  };
}

const subresourceRow = ({ name, responseKind, verbs }: Subresource) => ({ subresource: name, responseKind, verbs });
