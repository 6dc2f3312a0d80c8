import { CoordinationLease } from '../../resources/kinds/coordination-lease.ts';
import { ApiError, conflict } from '../../resources/meta/api-error.ts';
import { objectKey } from '../../resources/meta/object.ts';
import { resourceId } from '../../resources/meta/resource-id.ts';
import { parseTerm, TERM_HEADER, type Term } from '../../resources/meta/term-header.ts';
import { storeKey } from '../cache/keys.ts';
import type { WatchCache } from '../cache/watch-cache.ts';

/** The term a request's writes are done under; undefined when it names none. Throws `BadRequest` for what is no term. */
export function termOf(headers: Readonly<Record<string, string | undefined>>): Term | undefined {
  const text = headers[TERM_HEADER];
  if (text === undefined) return undefined;
  const term = parseTerm(text);
  if (term === undefined) throw new ApiError('BadRequest', `${TERM_HEADER}: "${text}" is not NAMESPACE/NAME/VERSION`);
  return term;
}

/** What a transaction compares so that nothing is written once the term is over, whenever the one who leads learns of it. */
export function comparesOf(term: Term | undefined): readonly { readonly key: string; readonly revision: number }[] {
  if (term === undefined) return [];
  return [{ key: storeKey(CoordinationLease, term.namespace, term.name), revision: Number(term.resourceVersion) }];
}

/** A `Conflict` when the cache shows that the term is over; undefined when it goes on. */
export function termOver(term: Term | undefined, cache: WatchCache): ApiError | undefined {
  if (term === undefined) return undefined;
  const lease = cache.resource(resourceId(CoordinationLease)).get(objectKey(term));
  if (lease?.revision === Number(term.resourceVersion)) return undefined;
  return conflict(CoordinationLease, term.name, `the term under it at version ${term.resourceVersion} is over`);
}
