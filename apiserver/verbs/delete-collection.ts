import { ApiError } from '../../resources/meta/api-error.ts';
import { askerOf } from '../auth/identity.ts';
import type { StoredObject } from '../cache/stored-object.ts';
import { refusedBy } from '../registry/refused.ts';
import type { ServerResponse } from '../requests/server-request.ts';
import { remove } from './delete.ts';
import { type DeleteWish, readWish } from './delete-options.ts';
import { pageOf } from './list.ts';
import { manyObjects } from './represent.ts';
import type { VerbContext } from './verb-context.ts';

/** DELETE of a collection: every object that a list with the same query would answer, one by one; none when one of them is never deleted. Answers the list of them as they were. */
export async function deleteCollection(context: VerbContext): Promise<ServerResponse> {
  const { parts, request, served } = context;
  const wish = await readWish(request);
  const { items, meta } = await pageOf(context);
  refuseKept(context, items);
  for (const item of items) await removeIfThere(context, item, wish);
  return manyObjects(served.kind, items, meta, {
    representation: context.representation,
    query: request.query,
    nowMs: parts.clock.now(),
  });
}

/** Where something among them is never deleted the whole is refused, before anything is: what was meant were others. */
function refuseKept({ parts, served: { kind }, identity }: VerbContext, items: readonly StoredObject[]): void {
  const lasting = (kind.rules.guards ?? []).filter((guard) => guard.lasting === true);
  const asked = { nowMs: parts.clock.now(), asker: askerOf(identity) };
  for (const { object } of items) {
    const change = { before: object, after: undefined };
    const refused = refusedBy(lasting, { kind, name: object.metadata.name }, change, parts.cache.world, asked);
    if (refused !== undefined) throw refused;
  }
}

async function removeIfThere(context: VerbContext, item: StoredObject, wish: DeleteWish): Promise<void> {
  const { name, namespace } = item.object.metadata;
  try {
    await remove({ ...context, target: { ...context.target, name, namespace } }, wish);
  } catch (error) {
    // Somebody else removed it first, which is what was asked for.
    if (!(error instanceof ApiError) || error.reason !== 'NotFound') throw error;
  }
}
