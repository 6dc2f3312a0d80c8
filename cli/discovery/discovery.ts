import type { ApiClient } from '../../apiserver/client/client.ts';
import type { ResourceRef } from '../../resources/meta/define-kind.ts';
import { isObject } from '../../resources/meta/object.ts';
import { Failure } from '../failure.ts';

/** A resource the server has, with the names it goes by. */
export interface DiscoveredResource extends ResourceRef {
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly verbs: readonly string[];
  /** Whether its group serves this version first. */
  readonly preferred: boolean;
}

const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

/** Everything the server has, in its order: the core group, then the others. */
export async function discover(client: ApiClient, signal: AbortSignal): Promise<DiscoveredResource[]> {
  const ask = (path: string) => client.json({ method: 'GET', path, headers: { accept: AGGREGATED }, signal });
  const [core, groups] = await Promise.all([ask('/api'), ask('/apis')]);
  return [...resourcesOf(core, ''), ...resourcesOf(groups, undefined)];
}

function resourcesOf(document: unknown, group: string | undefined): DiscoveredResource[] {
  if (!isObject(document) || document.kind !== 'APIGroupDiscoveryList')
    throw new Failure('the server does not speak aggregated discovery (apidiscovery.k8s.io/v2)');
  return objects(document.items).flatMap((item) => {
    const name = group ?? (isObject(item.metadata) ? string(item.metadata.name) : '');
    return objects(item.versions).flatMap((version, index) =>
      objects(version.resources).flatMap((resource) => {
        if (!isObject(resource.responseKind)) return [];
        return [
          {
            group: name,
            version: string(version.version),
            plural: string(resource.resource),
            kind: string(resource.responseKind.kind),
            namespaced: resource.scope === 'Namespaced',
            singular: string(resource.singularResource),
            shortNames: strings(resource.shortNames),
            categories: strings(resource.categories),
            verbs: strings(resource.verbs),
            preferred: index === 0,
          },
        ];
      }),
    );
  });
}

const objects = (value: unknown) => (Array.isArray(value) ? value.filter(isObject) : []);
const string = (value: unknown) => (typeof value === 'string' ? value : '');
const strings = (value: unknown) =>
  Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : [];
