import { resourceId } from '../../resources/meta/resource-id.ts';
import type { Access } from './authorize.ts';
import {
  AUTHENTICATED_GROUP,
  hostNameOf,
  type Identity,
  ownedNamespace,
  roleOf,
  serviceAccountOf,
  tenantOf,
} from './identity.ts';

/** Whether a right that the table gives a role holds for what is asked here. */
export function inScope(identity: Identity, access: Access): boolean {
  switch (roleOf(identity)) {
    case 'host':
      return inHostScope(hostNameOf(identity), access);
    case 'enroller':
      return access.name === hostNameOf(identity);
    case 'owner':
      return inOwnerScope(tenantOf(identity), access);
    case 'serviceaccount':
      return inNamespaceScope(serviceAccountOf(identity.user)?.namespace, access);
    case 'controller-process':
      return isPartOfDuty(access);
    default:
      return true;
  }
}

/** A process of controllers stands in for the users that duties are, and for the groups these are in. */
function isPartOfDuty({ verb, plural, name = '' }: Access): boolean {
  if (verb !== 'impersonate') return false;
  if (plural === 'users') return /^system:controller:./.test(name);
  return plural === 'groups' && (name === 'system:controllers' || name === AUTHENTICATED_GROUP);
}

/** A nodelet reads images, its own Host, and VMs and volumes of its own by `spec.hostName`; it writes only those. */
function inHostScope(host: string, { plural, name, fields, verb, subresource }: Access): boolean {
  if (plural === 'hosts')
    return name === host || fields.get('metadata.name') === host || (verb === 'create' && subresource === undefined);
  if (plural !== 'vms' && plural !== 'volumes') return true;
  return name !== undefined || fields.get('spec.hostName') === host;
}

/** What is the same for every tenant. */
const COMMON: ReadonlySet<string> = new Set(
  ['images', 'policies', 'pricelists'].map((plural) => `coppice.dev/${plural}`),
);
/** Of which one object is a tenant's, the one of its name. */
const NAMED: ReadonlySet<string> = new Set(['coppice.dev/tenants', 'core/namespaces']);

/** An owner has rights inside its namespace, and knows of that, of its tenant, and of what every tenant may know. A list of tenants has its own only. */
function inOwnerScope(own: string | undefined, access: Access): boolean {
  const { namespace, name, verb } = access;
  const id = resourceId(access);
  if (NAMED.has(id)) return name === undefined ? verb === 'list' || verb === 'watch' : name === own;
  return COMMON.has(id) || (namespace !== undefined && namespace === own);
}

/** Whether what an owner asks for is somebody else's: whether it is there or not is not told. */
export function isForeign(identity: Identity, access: Access): boolean {
  const own = ownedNamespace(identity);
  if (own === undefined) return false;
  if (access.namespace !== undefined) return access.namespace !== own;
  return NAMED.has(resourceId(access)) && access.name !== undefined && access.name !== own;
}

/** A service account has rights inside its namespace, and knows that the namespace is there. */
function inNamespaceScope(own: string | undefined, { group, plural, namespace, name }: Access): boolean {
  if (group === '' && plural === 'namespaces') return name === own;
  return namespace !== undefined && namespace === own;
}
