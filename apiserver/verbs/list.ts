import { ApiError } from '../../resources/meta/api-error.ts';
import { type Kind, storedIn } from '../../resources/meta/define-kind.ts';
import { resourceId } from '../../resources/meta/resource-id.ts';
import { keyRange } from '../cache/key-range.ts';
import { resourcePrefix } from '../cache/keys.ts';
import type { Narrowed } from '../cache/resource-cache.ts';
import type { StoredObject } from '../cache/stored-object.ts';
import { asApiError } from '../registry/store-failure.ts';
import { viewOf } from '../registry/versions.ts';
import { checkListOptions } from '../requests/list-options.ts';
import { integerOption, resourceVersionOption } from '../requests/options.ts';
import { warningHeaders } from '../requests/respond.ts';
import type { ServerResponse } from '../requests/server-request.ts';
import { isDamaged } from '../sealing/damage.ts';
import { StoreError } from '../store/store.ts';
import type { ListMeta } from '../table/partial-metadata.ts';
import { decodeContinue, encodeContinue } from './continue-token.ts';
import { reach } from './reach.ts';
import { manyObjects } from './represent.ts';
import { selectionOf } from './selection.ts';
import type { VerbContext } from './verb-context.ts';

/** GET of a collection. */
export async function list(context: VerbContext): Promise<ServerResponse> {
  const { items, meta } = await pageOf(context);
  const response = manyObjects(context.served.kind, items, meta, {
    representation: context.representation,
    query: context.request.query,
    nowMs: context.parts.clock.now(),
  });
  const warnings = warningHeaders(unreadable(context.served.kind, items));
  return { ...response, headers: { ...response.headers, ...warnings } };
}

/** One that cannot be read does not keep the others from being listed; it stands there by its name, and whoever lists is warned. */
function unreadable(kind: Kind, items: readonly StoredObject[]): readonly string[] {
  if (!kind.sealed) return [];
  const { plural } = kind;
  const names = items.filter(({ object }) => isDamaged(object)).map(({ key }) => key);
  return names.length === 0 ? [] : [`cannot be read, only deleted: ${plural} ${names.slice(0, 10).join(', ')}`];
}

/** The objects that a request for a collection is about, and what its list says of itself. */
export async function pageOf(
  context: VerbContext,
): Promise<{ readonly items: readonly StoredObject[]; readonly meta: ListMeta }> {
  const { parts, request, served, target } = context;
  const selection = selectionOf(served.kind, request.query);
  const limit = limitOf(request.query);
  const from = await startOf(context, { limit, narrowed: selection.narrowed });
  const kept = keyRange(from.objects, target.namespace, from.after);
  const rest = shownAsKept(served.kind) ? kept : kept.map((item) => viewOf(served.kind, item));
  const matching = selection.all ? rest : rest.filter((item) => selection.matches(item.object));
  const resourceVersion = String(from.revision);
  if (limit === 0 || matching.length <= limit) return { items: matching, meta: { resourceVersion } };
  const items = matching.slice(0, limit);
  parts.snapshots.keep(resourceId(storedIn(served.kind)), from.revision, from.objects);
  const next = encodeContinue({ revision: from.revision, after: (items.at(-1) as StoredObject).key });
  const remaining = selection.all ? { remainingItemCount: matching.length - limit } : {};
  return { items, meta: { resourceVersion, continue: next, ...remaining } };
}

const shownAsKept = (kind: Kind) => kind.origin !== 'user' && kind.view === undefined;
/** How many objects a page may hold; 0 = all. Whatever is at hand (version 0) comes whole, as it does from a real server's cache. */
function limitOf(query: URLSearchParams): number {
  const limit = Math.max(0, integerOption(query, 'limit') ?? 0);
  return query.get('resourceVersion') === '0' && !query.get('continue') ? 0 : limit;
}

interface Start {
  readonly objects: readonly StoredObject[];
  readonly revision: number;
  readonly after?: string;
}

/** The state to list: the newest, one at an exact revision, or where a continue token left off. */
async function startOf(context: VerbContext, extent: Extent): Promise<Start> {
  const { parts, request, served } = context;
  const { query } = request;
  const token = query.get('continue') ?? '';
  checkListOptions(query, false);
  if (token !== '') {
    checkContinue(query);
    const { revision, after } = decodeContinue(token);
    await reach(parts, revision, request);
    if (revision === undefined) return { ...newest(context, extent), after };
    return { objects: await at(context, revision, after), revision, after };
  }
  const revision = resourceVersionOption(query.get('resourceVersion'));
  await reach(parts, revision, request);
  const limited = (integerOption(query, 'limit') ?? 0) > 0;
  const match = query.get('resourceVersionMatch') ?? '';
  const exact = match === 'Exact' || (match === '' && limited && revision !== undefined && revision > 0);
  if (exact && revision !== undefined && revision !== parts.cache.revision)
    return { objects: await at(context, revision), revision };
  return newest({ parts, served }, extent);
}

/** What a list is of, as far as it is known before its objects are looked at. */
interface Extent {
  /** 0 = no limit. */
  readonly limit: number;
  readonly narrowed: Narrowed | undefined;
}

/** All objects there are, or those alone that can match where they fit into one page: further pages are of a snapshot of all. */
function newest({ parts, served }: Pick<VerbContext, 'parts' | 'served'>, { limit, narrowed }: Extent): Start {
  const cache = parts.cache.resource(resourceId(storedIn(served.kind)));
  const { revision } = parts.cache;
  const few = narrowed && cache.having(narrowed);
  return few !== undefined && (limit === 0 || few.length <= limit)
    ? { objects: few, revision }
    : { objects: cache.sorted(), revision };
}

/** All objects as they were at a revision: from a kept snapshot, else from the store's history. */
async function at(
  { parts, served, request }: VerbContext,
  revision: number,
  after?: string,
): Promise<readonly StoredObject[]> {
  const id = resourceId(storedIn(served.kind));
  const kept = parts.snapshots.find(id, revision);
  if (kept !== undefined) return kept;
  const prefix = resourcePrefix(storedIn(served.kind));
  try {
    const { entries } = await parts.store.range({ prefix, revision }, request.signal);
    const objects = entries.map(({ key, value, modRevision }) => parts.cache.codec.decode(key, value, modRevision));
    parts.snapshots.keep(id, revision, objects);
    return objects;
  } catch (error) {
    if (!(error instanceof StoreError) || error.reason !== 'Compacted' || after === undefined) throw asApiError(error);
    throw new ApiError(
      'Expired',
      'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.',
      { continueToken: encodeContinue({ after }) },
    );
  }
}

/** A token stands for a version: none may be given beside it. */
function checkContinue(query: URLSearchParams): void {
  const version = query.get('resourceVersion') ?? '';
  if (version !== '' && version !== '0')
    throw new ApiError('BadRequest', 'specifying resource version is not allowed when using continue');
}
