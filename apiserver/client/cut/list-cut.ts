import { ApiError } from '../../../resources/meta/api-error.ts';
import type { ResourceRef } from '../../../resources/meta/define-kind.ts';
import type { KubeObject } from '../../../resources/meta/object.ts';
import { resourceId } from '../../../resources/meta/resource-id.ts';
import type { ApiClient } from '../client.ts';

const PAGE = 500;
/** How often a list is begun again because what it was to be as of is forgotten already. */
const TRIES = 5;

/** All objects of several resources at one revision, page by page. */
export async function listCut(
  client: ApiClient,
  resources: readonly ResourceRef[],
  signal: AbortSignal,
): Promise<{ readonly objects: ReadonlyMap<string, readonly KubeObject[]>; readonly revision: number }> {
  for (let tries = 1; ; tries++) {
    try {
      return await listOnce(client, resources, signal);
    } catch (error) {
      if (tries === TRIES || !(error instanceof ApiError) || error.reason !== 'Expired') throw error;
    }
  }
}

async function listOnce(client: ApiClient, resources: readonly ResourceRef[], signal: AbortSignal) {
  const objects = new Map<string, readonly KubeObject[]>();
  let revision: string | undefined;
  for (const ref of resources) {
    const items: KubeObject[] = [];
    let token: string | undefined;
    do {
      const asOf = revision === undefined ? {} : { resourceVersion: revision, resourceVersionMatch: 'Exact' as const };
      const page = await client
        .resource<KubeObject>(ref)
        .list({ limit: PAGE, ...(token === undefined ? asOf : { continue: token }) }, signal);
      items.push(...page.items);
      revision ??= page.metadata.resourceVersion;
      token = page.metadata.continue;
    } while (token !== undefined && token !== '');
    objects.set(resourceId(ref), items);
  }
  return { objects, revision: Number(revision ?? 0) };
}
