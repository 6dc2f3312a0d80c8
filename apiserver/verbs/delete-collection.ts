import { ApiError } from '../../resources/meta/api-error.ts';
import { resourceId } from '../../resources/meta/resource-id.ts';
import type { StoredObject } from '../cache/stored-object.ts';
import type { ServerResponse } from '../requests/server-request.ts';
import { readWish, remove } from './delete.ts';
import { reach } from './reach.ts';
import { manyObjects } from './represent.ts';
import { selectionOf } from './selection.ts';
import { inNamespace, type VerbContext } from './verb-context.ts';

/** DELETE of a collection: every object the selectors name, one by one. Answers the list of them as they were. */
export async function deleteCollection(context: VerbContext): Promise<ServerResponse> {
  const { parts, request, served, target } = context;
  const wish = await readWish(request);
  const selection = selectionOf(served.kind, request.query);
  await reach(parts, undefined, request.signal);
  const chosen = parts.cache
    .resource(resourceId(served.kind))
    .sorted()
    .filter((item) => inNamespace(item.object, target.namespace) && selection.matches(item.object));
  for (const item of chosen) await removeIfThere(context, item, wish);
  return manyObjects(
    served.kind,
    chosen,
    { resourceVersion: String(parts.cache.revision) },
    {
      representation: 'Object',
      query: request.query,
      nowMs: parts.clock.now(),
    },
  );
}

async function removeIfThere(
  context: VerbContext,
  item: StoredObject,
  wish: Parameters<typeof remove>[1],
): Promise<void> {
  const { name, namespace } = item.object.metadata;
  try {
    await remove({ ...context, target: { ...context.target, name, namespace } }, wish);
  } catch (error) {
    // Somebody else removed it first, which is what was asked for.
    if (!(error instanceof ApiError) || error.reason !== 'NotFound') throw error;
  }
}
