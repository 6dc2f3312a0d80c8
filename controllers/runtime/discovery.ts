import type { ApiClient } from '../../apiserver/client/client.ts';
import { EventsEvent } from '../../resources/kinds/events-event.ts';
import type { ResourceRef } from '../../resources/meta/define-kind.ts';
import { apiVersionOf, resourceId } from '../../resources/meta/resource-id.ts';

/** A resource as the server offers it. */
export interface ServedResource extends ResourceRef {
  readonly verbs: readonly string[];
}

interface GroupList {
  readonly groups: readonly {
    readonly name: string;
    readonly versions: readonly { readonly version: string }[];
    readonly preferredVersion?: { readonly version: string };
  }[];
}

interface ResourceList {
  readonly resources: readonly {
    readonly name: string;
    readonly kind: string;
    readonly namespaced: boolean;
    readonly verbs: readonly string[];
  }[];
}

/** Resources whose objects are those of another resource. */
const VIEWS: ReadonlySet<string> = new Set([resourceId(EventsEvent)]);

/**
 * The resources the server has, each once (in the version its group prefers), without subresources. Throws when any part of the answer is
 * missing: "nothing is left" may be said only by someone who has looked everywhere.
 */
export async function servedResources(client: ApiClient, signal: AbortSignal): Promise<readonly ServedResource[]> {
  const read = async (path: string) =>
    client.json({ method: 'GET', path, headers: { accept: 'application/json' }, signal });
  const groups = (await read('/apis')) as GroupList;
  const served = [await resourcesOf({ group: '', version: 'v1' }, '/api/v1')];
  for (const { name, preferredVersion, versions } of groups.groups) {
    const version = preferredVersion?.version ?? versions[0]?.version;
    if (version === undefined) continue;
    const id = { group: name, version };
    served.push(await resourcesOf(id, `/apis/${apiVersionOf(id)}`));
  }
  return served.flat();

  async function resourcesOf(id: { group: string; version: string }, path: string): Promise<ServedResource[]> {
    const list = (await read(path)) as ResourceList;
    return list.resources
      .filter(({ name }) => !name.includes('/') && !VIEWS.has(resourceId({ group: id.group, plural: name })))
      .map(({ name, kind, namespaced, verbs }) => ({ ...id, plural: name, kind, namespaced, verbs }));
  }
}
