import type { ResourceClient } from '../apiserver/client/client.ts';
import type { KubeObject } from '../resources/meta/object.ts';

const PAGE = 500;

/** All objects that match, page by page, and the revision they are of. */
export async function listAll<T extends KubeObject>(
  resource: ResourceClient<T>,
  selectors: { readonly labelSelector?: string; readonly fieldSelector?: string },
  signal: AbortSignal,
): Promise<{ items: T[]; resourceVersion: string }> {
  const { labelSelector, fieldSelector } = selectors;
  const items: T[] = [];
  let token: string | undefined;
  for (;;) {
    const page = await resource.list(
      {
        limit: PAGE,
        ...(labelSelector === undefined ? {} : { labelSelector }),
        ...(fieldSelector === undefined ? {} : { fieldSelector }),
        ...(token === undefined ? {} : { continue: token }),
      },
      signal,
    );
    items.push(...page.items);
    token = page.metadata.continue;
    if (token === undefined || token === '') return { items, resourceVersion: page.metadata.resourceVersion };
  }
}
