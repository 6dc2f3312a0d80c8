import type { ApiClient } from '../../apiserver/client/client.ts';
import { CONTROL_PLANE } from '../../resources/kinds/control-plane.ts';
import { isObject } from '../../resources/meta/object.ts';
import { askHost } from './ask-host.ts';

/** What gives a host its orders. */
export interface ControlPlane {
  readonly uid: string;
  readonly revision: number;
  /** SHA-256, in hex, of the authorities that servers are trusted by. */
  readonly authorities: string;
}

/** Asks a server about the control plane as it is now. */
export async function controlPlaneOf(client: ApiClient, host: string, signal: AbortSignal): Promise<ControlPlane> {
  const status = await askHost(client, host, CONTROL_PLANE, {}, signal);
  const { storeUID: uid, revision, authorities } = isObject(status) ? status : {};
  if (typeof uid !== 'string' || typeof revision !== 'number' || typeof authorities !== 'string')
    throw new Error('the server does not tell which store it has');
  return { uid, revision, authorities };
}
