import { NAMESPACES, TENANTS } from '../../resources/guards/refs.ts';
import type { Kind, Verb } from '../../resources/meta/define-kind.ts';
import { resourceId } from '../../resources/meta/resource-id.ts';
import type { ResourceTarget } from '../requests/route.ts';
import type { ServerRequest } from '../requests/server-request.ts';
import { withQuery } from '../requests/with-query.ts';
import { type Identity, ownedNamespace } from './identity.ts';

/** Kinds of which one object is a tenant's: that of its name. */
const NAMED = new Set([resourceId(TENANTS), resourceId(NAMESPACES)]);

/** The namespace that a read over all of them is about: an owner knows of one. */
export function readNamespace(
  identity: Identity,
  { namespaced }: Pick<Kind, 'namespaced'>,
  verb: string,
): string | undefined {
  return namespaced && (verb === 'list' || verb === 'watch') ? ownedNamespace(identity) : undefined;
}

/** A read of an owner over all there is, as one of what is its own; any other request as it is. */
export function ownRequest(
  identity: Identity,
  kind: Kind,
  verb: Verb,
  request: ServerRequest,
  target: ResourceTarget,
): { readonly request: ServerRequest; readonly target: ResourceTarget } {
  const own = ownedNamespace(identity);
  if (own === undefined || target.name !== undefined || target.namespace !== undefined) return { request, target };
  const namespace = readNamespace(identity, kind, verb);
  if (namespace !== undefined) return { request, target: { ...target, namespace } };
  if ((verb !== 'list' && verb !== 'watch') || !NAMED.has(resourceId(kind))) return { request, target };
  const query = new URLSearchParams(request.query);
  const selector = query.get('fieldSelector') ?? '';
  query.set('fieldSelector', `${selector === '' ? '' : `${selector},`}metadata.name=${own}`);
  return { request: withQuery(request, query), target };
}
