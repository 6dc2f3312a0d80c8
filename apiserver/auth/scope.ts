import type { Access } from './authorize.ts';
import { AUTHENTICATED_GROUP, hostNameOf, type Identity, roleOf, serviceAccountOf } from './identity.ts';

/** Whether a right that the table gives a role holds for what is asked here. */
export function inScope(identity: Identity, access: Access): boolean {
  switch (roleOf(identity)) {
    case 'host':
      return inHostScope(hostNameOf(identity), access);
    case 'enroller':
      return access.name === hostNameOf(identity);
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

/** A nodelet reads images, its own Host, and VMs of its own by `spec.hostName`; it writes only those. */
function inHostScope(host: string, { plural, name, fields, verb, subresource }: Access): boolean {
  if (plural === 'hosts')
    return name === host || fields.get('metadata.name') === host || (verb === 'create' && subresource === undefined);
  if (plural !== 'vms') return true;
  return name !== undefined || fields.get('spec.hostName') === host;
}

/** A service account has rights inside its namespace, and knows that the namespace is there. */
function inNamespaceScope(own: string | undefined, { group, plural, namespace, name }: Access): boolean {
  if (group === '' && plural === 'namespaces') return name === own;
  return namespace !== undefined && namespace === own;
}
