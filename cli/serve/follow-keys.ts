import { controllerIdentity } from '../../apiserver/auth/identity.ts';
import { joinMaterialOf } from '../../apiserver/pki/join-material.ts';
import { keepKeys, serverKeysIn } from '../../apiserver/pki/keep-keys.ts';
import type { Pki } from '../../apiserver/pki/pki-files.ts';
import type { ApiServer, ApiServerOptions } from '../../apiserver/server.ts';
import type { Clock } from '../../resources/ambient/clock.ts';
import type { Logger } from '../../resources/ambient/log.ts';

interface FollowKeysDeps {
  readonly folder: string;
  readonly pki: Pki;
  readonly server: Pick<ApiServer, 'keys' | 'transportFor'>;
  readonly serverName: string;
  /** Serves the leaf and trusts the authorities that the folder has now. */
  renewTls(): Promise<void>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Has a server work with what changes in its folder of keys, and tell of it, until `held` is disposed. */
export function followKeys({ server, ...deps }: FollowKeysDeps, held: AsyncDisposableStack): void {
  const ending = new AbortController();
  const transport = server.transportFor(controllerIdentity('key-report'));
  const following = keepKeys({ ...deps, keys: server.keys, transport }, ending.signal);
  held.defer(async () => {
    ending.abort(new Error('the server is stopping'));
    await following;
  });
}

/** Where a server finds its keys when it needs them anew. */
export function keySources(
  { pki, folder }: { readonly pki: Pki; readonly folder: string },
  log: Logger,
): Pick<ApiServerOptions, 'rereadKeys' | 'joinMaterial'> {
  return {
    rereadKeys() {
      try {
        return serverKeysIn(pki);
      } catch (error) {
        log.error('keys cannot be read', { error: String(error) });
        return undefined;
      }
    },
    joinMaterial: () => joinMaterialOf(folder),
  };
}
