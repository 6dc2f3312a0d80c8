import { hostname } from 'node:os';
import { listen } from '../../apiserver/listen.ts';
import { changeAdminKubeconfig, tokenIn, writeAdminKubeconfig } from '../../apiserver/pki/admin-kubeconfig.ts';
import { BadKeyFileError } from '../../apiserver/pki/bad-key-file-error.ts';
import { openPki, type Pki } from '../../apiserver/pki/pki-files.ts';
import { SEALING_KEY_FILE } from '../../apiserver/pki/sealing-keys.ts';
import { MissingKeyError } from '../../apiserver/sealing/missing-key-error.ts';
import { type ApiServer, startApiServer } from '../../apiserver/server.ts';
import { type Store, StoreError } from '../../apiserver/store/store.ts';
import type { Clock } from '../../resources/ambient/clock.ts';
import type { Ids } from '../../resources/ambient/ids.ts';
import type { Logger } from '../../resources/ambient/log.ts';
import { Failure } from '../failure.ts';
import { followKeys, serverKeysOr } from './follow-keys.ts';
import { type Home, startFailure } from './home.ts';
import { openStore } from './open-store.ts';
import type { StoreOptions } from './store-options.ts';

export const LOOPBACK = '127.0.0.1';
const RENEWAL_CHECK_MS = 12 * 3600 * 1000;

export interface ServerDeps {
  readonly home: Home;
  readonly store: StoreOptions;
  /** 0 is any free one. */
  readonly port: number;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly random: () => number;
  readonly log: Logger;
}

export interface StartedServer {
  readonly server: ApiServer;
  readonly store: Store;
  readonly pki: Pki;
  /** With the port that was given. */
  readonly url: string;
}

/** Opens the store and serves the API on loopback, and writes the kubeconfig for it. What is started is left to `held`. Throws a `Failure` when it cannot. */
export async function startServer(deps: ServerDeps, held: AsyncDisposableStack): Promise<StartedServer> {
  const { home, clock, ids, random, log } = deps;
  const names = ['localhost', LOOPBACK, '::1', hostname()];
  try {
    const store = held.use(await openStore(deps.store, { path: home.store, clock, ids, log }));
    const pki = await openPki(home.pki, names, clock, ids);
    const { token, hash } = pki.operator(tokenIn(home.kubeconfig));
    const platform = {
      platform: `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
      runtime: process.version,
    };
    const serviceAccountKey = pki.serviceAccountKey();
    const name = `up-${hostname()}`;
    const server = held.use(
      await startApiServer({
        store,
        operatorTokenHash: hash,
        serviceAccountKey,
        sealingKeys: pki.sealingKeys(),
        rereadKeys: () => serverKeysOr(pki, log),
        name,
        clock,
        ids,
        random,
        log,
        platform,
      }),
    );
    const tls = async () => ({ ...(await pki.serverLeaf()), ca: pki.caCert });
    const { app, upgrade } = server;
    const listener = held.use(await listen({ host: LOOPBACK, port: deps.port, tls: await tls(), app, upgrade, clock }));
    const url = `https://${LOOPBACK}:${listener.port}`;
    if (token !== undefined) writeAdminKubeconfig(home.kubeconfig, { server: url, caCert: pki.caCert, token });
    const renewTls = async () => {
      listener.renew(await tls());
      changeAdminKubeconfig(home.kubeconfig, { caCert: pki.caCert });
    };
    keepRenewing(renewTls, deps, held);
    followKeys({ folder: home.pki, pki, server, serverName: name, renewTls, clock, log }, held);
    return { server, store, pki, url };
  } catch (error) {
    throw serverFailure(error, deps.port, home);
  }
}

/** Looks twice a day whether the leaf should be replaced, and serves the new one without a restart. */
function keepRenewing(renew: () => Promise<void>, { clock, log }: ServerDeps, held: AsyncDisposableStack): void {
  let stop = () => {};
  const again = () => {
    stop = clock.after(RENEWAL_CHECK_MS, () => {
      renew().catch((error: unknown) => log.error('certificate not renewed', { error: String(error) }));
      again();
    });
  };
  again();
  held.defer(() => stop());
}

function serverFailure(error: unknown, port: number, home: Home): unknown {
  if (error instanceof BadKeyFileError) {
    const hint = 'put back the one that belongs to this home: it is not made anew over one that may be needed';
    return new Failure(error.message, { hint, cause: error });
  }
  if (error instanceof MissingKeyError) {
    const hint = `put back the ${SEALING_KEY_FILE} that belongs to this home into ${home.pki}`;
    return new Failure(error.message, { hint, cause: error });
  }
  if (error instanceof StoreError) return new Failure(error.message, { cause: error });
  const { code, syscall } = (error ?? {}) as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE') {
    const hint = 'stop what listens there, or choose another with --port (0 takes any free one)';
    return new Failure(`port ${port} on ${LOOPBACK} is taken`, { hint, cause: error });
  }
  if (code === 'EACCES' && syscall === 'listen') {
    const hint = 'choose one above 1023 with --port';
    return new Failure(`no permission to listen on port ${port}`, { hint, cause: error });
  }
  return startFailure(error, home.path);
}
