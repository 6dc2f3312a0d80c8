import { ApiError, notFound } from '../../resources/meta/api-error.ts';
import type { Kind, Verb } from '../../resources/meta/define-kind.ts';
import type { KubeObject } from '../../resources/meta/object.ts';
import { resourceId } from '../../resources/meta/resource-id.ts';
import { AUTHORIZATION, USER_KIND } from './authorization-table.ts';
import { hostNameOf, type Identity, roleOf } from './identity.ts';

/** What is asked of a kind. */
export interface Ask {
  readonly kind: Kind;
  readonly verb: Verb;
  readonly subresource: string | undefined;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  /** The field selector of a list or watch: label → value. */
  readonly fields: ReadonlyMap<string, string>;
}

/** Throws `Forbidden`, or `NotFound` where the asker may not know that it is there. */
export function authorize(identity: Identity, ask: Ask): void {
  const row = rowOf(ask.kind, ask.subresource);
  const role = roleOf(identity);
  const allowed = row?.[ask.verb] ?? [];
  const may =
    role !== undefined &&
    (allowed.includes(role) || (role.startsWith('controller:') && allowed.includes('controllers')));
  if (!may || (role === 'host' && !inHostScope(identity, ask))) throw refused(identity, ask);
}

/** The row of the table for a resource; undefined means nobody. */
export function rowOf(kind: Kind, subresource: string | undefined) {
  if (kind.origin === 'user') return USER_KIND;
  return AUTHORIZATION[subresource === undefined ? resourceId(kind) : `${resourceId(kind)}/${subresource}`];
}

/** A nodelet reads images, its own Host, and VMs of its own by `spec.hostName`; it writes only those. */
function inHostScope(identity: Identity, ask: Ask): boolean {
  const host = hostNameOf(identity);
  if (ask.kind.plural === 'hosts')
    return (
      ask.name === host ||
      ask.fields.get('metadata.name') === host ||
      (ask.verb === 'create' && ask.subresource === undefined)
    );
  if (ask.kind.plural !== 'vms') return true;
  return ask.name !== undefined || ask.fields.get('spec.hostName') === host;
}

/** Whether an identity may touch this very object; called once it is at hand. Throws `NotFound` as if it were not there. That the identity is the
 * current Host's is for `authorizeHost`. */
export function authorizeObject(identity: Identity, kind: Kind, object: KubeObject): void {
  if (roleOf(identity) !== 'host') return;
  const host = hostNameOf(identity);
  const own =
    kind.plural === 'hosts'
      ? object.metadata.name === host
      : kind.plural !== 'vms' || (object.spec as { hostName?: string } | undefined)?.hostName === host;
  if (!own) throw notFound(kind, object.metadata.name);
}

function refused(identity: Identity, { kind, verb, subresource, namespace, name }: Ask): ApiError {
  const resource = subresource === undefined ? kind.plural : `${kind.plural}/${subresource}`;
  const qualified = kind.group === '' ? resource : `${resource}.${kind.group}`;
  const where =
    kind.namespaced && namespace !== undefined ? ` in the namespace "${namespace}"` : ' at the cluster scope';
  const what = `User "${identity.user}" cannot ${verb} resource "${resource}" in API group "${kind.group}"${where}`;
  return new ApiError('Forbidden', `${qualified}${name === undefined ? '' : ` "${name}"`} is forbidden: ${what}`, {
    details: {
      ...(name === undefined ? {} : { name }),
      ...(kind.group === '' ? {} : { group: kind.group }),
      kind: kind.plural,
    },
  });
}
