import { HOSTS } from '../../resources/guards/refs.ts';
import type { WorldView } from '../../resources/guards/world.ts';
import { ApiError } from '../../resources/meta/api-error.ts';
import { hostNameOf, type Identity, roleOf } from './identity.ts';

/**
 * Refuses a nodelet whose certificate is bound to a Host that is no more: deleted, or made again under the same name. Its guests are not its
 * own any longer, whatever their name says.
 */
export function authorizeHost(identity: Identity, world: WorldView): void {
  if (roleOf(identity) !== 'host' || identity.uid === undefined) return;
  const name = hostNameOf(identity);
  const host = world.get(HOSTS, undefined, name);
  if (host?.metadata.uid === identity.uid) return;
  const why = host === undefined ? 'that Host is gone' : `Host ${name} has uid ${host.metadata.uid} now`;
  throw new ApiError('Forbidden', `User "${identity.user}" is bound to the Host with uid ${identity.uid}: ${why}`);
}
