import { hostname } from 'node:os';
import { controllerIdentity, serverIdentity } from '../../apiserver/auth/identity.ts';
import { type ListenOptions, listen } from '../../apiserver/listen.ts';
import { changeAdminKubeconfig, tokenIn, writeAdminKubeconfig } from '../../apiserver/pki/admin-kubeconfig.ts';
import { BadKeyFileError } from '../../apiserver/pki/bad-key-file-error.ts';
import { keepControllersKubeconfig } from '../../apiserver/pki/controllers-kubeconfig.ts';
import { ForeignKeysError, refuseForeignKeys } from '../../apiserver/pki/foreign-keys.ts';
import { type KeyPair, shouldRenew } from '../../apiserver/pki/leaf-life.ts';
import type { Pki } from '../../apiserver/pki/pki-files.ts';
import { SEALING_KEY_FILE } from '../../apiserver/pki/sealing-keys.ts';
import { MissingKeyError } from '../../apiserver/sealing/missing-key-error.ts';
import type { ApiServer } from '../../apiserver/server.ts';
import { NameTakenError } from '../../apiserver/servers/name-taken-error.ts';
import { type Store, StoreError } from '../../apiserver/store/store.ts';
import type { PeerTls } from '../../apiserver/streams/relay.ts';
import type { Clock } from '../../resources/ambient/clock.ts';
import type { Ids } from '../../resources/ambient/ids.ts';
import type { Logger } from '../../resources/ambient/log.ts';
import { Failure } from '../failure.ts';
import { etcdFailure } from './etcd-failure.ts';
import { followKeys, keySources } from './follow-keys.ts';
import { type Home, startFailure } from './home.ts';
import { isEveryAddress, openServerPki, type ServerPki } from './open-server-pki.ts';
import { openStore } from './open-store.ts';
import { serverName } from './server-name.ts';
import type { ServerOptions } from './server-options.ts';

/** For requests under way when the server ends. */
const GRACE_MS = 5_000;
const RENEWAL_CHECK_MS = 12 * 3600 * 1000;

interface ServerDeps extends Omit<ServerOptions, 'home'> {
  readonly home: Home;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly random: () => number;
  /** Ends a start that waits. */
  readonly signal?: AbortSignal;
  readonly log: Logger;
}

export interface StartedServer {
  readonly server: ApiServer;
  readonly store: Store;
  readonly pki: Pki;
  readonly name: string;
  /** Where others reach it, with the port that was given. */
  readonly url: string;
}

/** Opens the store and serves the API, and writes the kubeconfig for it. What is started is left to `held`. Throws a `Failure` when it cannot. */
export async function startServer(deps: ServerDeps, held: AsyncDisposableStack): Promise<StartedServer> {
  const { home, clock, ids, random, log } = deps;
  try {
    // What is large is loaded while the store opens, which its own thread does.
    const [store, { startApiServer }] = await Promise.all([
      openStore(deps.store, { path: home.store, clock, ids, log }).then((opened) => held.use(opened)),
      import('../../apiserver/server.ts'),
    ]);
    const keys = await openServerPki(deps, clock, ids);
    const { pki, operatorTokenHash, serviceAccountKey, sealingKeys } = keys;
    const { name, uid } = serverName(home.serverName, deps.name, ids);
    const platform = {
      platform: `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
      runtime: process.version,
    };
    const identity = { operatorTokenHash, serviceAccountKey, sealingKeys, hostAuthority: pki, name, platform };
    const server = held.use(
      await startApiServer({ ...identity, ...keySources(keys, log), store, clock, ids, random, log }),
    );
    const transport = server.transportFor(controllerIdentity('key-report'));
    const signal = deps.signal ?? new AbortController().signal;
    await refuseForeignKeys({ folder: keys.folder, transport, serverName: name, clock, signal });
    const tls = () => servedTls(pki);
    const { app, upgrade } = server;
    const where = { host: deps.listen, port: deps.port };
    const listener = held.use(await listen({ ...where, tls: await tls(), app, upgrade, clock, graceMs: GRACE_MS }));
    const url = deps.advertise ?? originOf(deps.listen, listener.port);
    const keepKubeconfig = await kubeconfigKeeper(home, url, keys, clock);
    const keepControllers = () =>
      keepControllersKubeconfig({ path: home.controllersKubeconfig, server: url, pki, clock });
    await keepControllers();
    const renew = async () => {
      listener.renew(await tls());
      await keepKubeconfig();
      await keepControllers();
    };
    keepRenewing(renew, deps, held);
    followKeys({ folder: keys.folder, pki, server, serverName: name, renewTls: renew, clock, log }, held);
    held.defer(() => server.endStreams());
    held.use(await server.announce({ uid, address: url, tls: peerTls(name, pki, clock) }, deps.signal));
    return { server, store, pki, name, url };
  } catch (error) {
    throw serverFailure(error, deps);
  }
}

/** The certificate that other servers know this one by, made anew when it grows old. */
function peerTls(name: string, pki: Pki, clock: Clock): () => Promise<PeerTls> {
  const { user, groups } = serverIdentity(name);
  const subject = { commonName: user, organizations: groups.slice(0, 1) };
  let kept: KeyPair | undefined;
  return async () => {
    if (kept === undefined || !pki.isCurrent(kept) || shouldRenew(kept.cert, [], clock.now()))
      kept = await pki.issueClient(subject);
    return { ca: pki.caCert, ...kept };
  };
}

/** The authority's certificate goes along: a new server knows its hash only, and learns the rest from it. */
async function servedTls(pki: Pki): Promise<ListenOptions['tls']> {
  const { cert, key } = await pki.serverLeaf();
  return { cert: `${cert.trimEnd()}\n${pki.issuingCert}`, key, ca: pki.caCert };
}

/** By its name where it listens on every address: which of them others can reach, only they know. */
function originOf(listen: string, port: number): string {
  const host = isEveryAddress(listen) ? hostname() : listen.includes(':') ? `[${listen}]` : listen;
  return `https://${host}:${port}`;
}

/**
 * Writes the kubeconfig; the function that it answers has it trust what the folder trusts, and gives it another certificate, if that is what it has, when
 * the one it has grows old or is of another authority than the one that issues.
 */
async function kubeconfigKeeper(
  home: Home,
  url: string,
  { pki, operatorCredential }: ServerPki,
  clock: Clock,
): Promise<() => Promise<void>> {
  const write = async () => {
    const credential = await operatorCredential();
    writeAdminKubeconfig(home.kubeconfig, { server: url, caCert: pki.caCert, ...credential });
    return credential;
  };
  let written = await write();
  return async () => {
    changeAdminKubeconfig(home.kubeconfig, { caCert: pki.caCert });
    if (!('cert' in written) || tokenIn(home.kubeconfig) !== undefined) return;
    if (!pki.isCurrent(written) || shouldRenew(written.cert, [], clock.now())) written = await write();
  };
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

function serverFailure(error: unknown, deps: ServerDeps): unknown {
  const { port, listen: address, home } = deps;
  if (error instanceof BadKeyFileError) {
    const hint = 'put back the one that belongs to this home: it is not made anew over one that may be needed';
    return new Failure(error.message, { hint, cause: error });
  }
  if (error instanceof MissingKeyError) {
    const hint = `put back the ${SEALING_KEY_FILE} that belongs to this home into ${deps.pki ?? home.pki}`;
    return new Failure(error.message, { hint, cause: error });
  }
  if (error instanceof ForeignKeysError) {
    const hint =
      'name the folder of that server with --pki, or fetch a copy into another --home with coppice apiserver join';
    return new Failure(error.message, { hint, cause: error });
  }
  if (error instanceof NameTakenError)
    return new Failure(error.message, { hint: 'choose another with --name', cause: error });
  if (error instanceof StoreError && error.reason === 'Unavailable' && deps.store.kind === 'etcd')
    return etcdFailure(error, deps.store);
  if (error instanceof StoreError) return new Failure(error.message, { cause: error });
  const { code, syscall } = (error ?? {}) as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE') {
    const hint = 'stop what listens there, or choose another with --port (0 takes any free one)';
    return new Failure(`port ${port} on ${address} is taken`, { hint, cause: error });
  }
  if (code === 'EADDRNOTAVAIL') {
    const hint = 'give one of this machine with --listen';
    return new Failure(`${address} is not an address of this machine`, { hint, cause: error });
  }
  if (code === 'EACCES' && syscall === 'listen') {
    const hint = 'choose one above 1023 with --port';
    return new Failure(`no permission to listen on port ${port}`, { hint, cause: error });
  }
  const ofKeys = keysFailure(error, deps.pki);
  return ofKeys === error ? startFailure(error, home.path) : ofKeys;
}

/** An error of a file in the folder that `--pki` names, which may lie below the home. An error of no file at all is none of its. */
function keysFailure(error: unknown, folder: string | undefined): unknown {
  const { path } = (error ?? {}) as NodeJS.ErrnoException;
  return folder === undefined || path === undefined ? error : startFailure(error, folder, '--pki');
}
