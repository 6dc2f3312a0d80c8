import { mkdirSync } from 'node:fs';
import { controllerIdentity, hostIdentity, OPERATOR } from '../../apiserver/auth/identity.ts';
import { ApiClient } from '../../apiserver/client/client.ts';
import type { Pki } from '../../apiserver/pki/pki-files.ts';
import type { ApiServer } from '../../apiserver/server.ts';
import type { Store } from '../../apiserver/store/store.ts';
import type { CacheView } from '../../controllers/runtime/cache.ts';
import { Informers } from '../../controllers/runtime/informers.ts';
import { runNodelet } from '../../nodelet/run-nodelet.ts';
import type { Clock } from '../../resources/ambient/clock.ts';
import type { Logger } from '../../resources/ambient/log.ts';
import { Host } from '../../resources/kinds/host.ts';
import { Image } from '../../resources/kinds/image.ts';
import { ApiError } from '../../resources/meta/api-error.ts';
import type { Fleet, HostPlan } from './drivers.ts';
import type { Home } from './home.ts';

export interface NodeletDeps {
  readonly home: Home;
  readonly server: ApiServer;
  readonly store: Store;
  readonly pki: Pki;
  /** The server's own address, for control sockets. */
  readonly url: string;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
}

/** Hosts at work in this process. Disposing it stops them and leaves guests running. */
export interface RunningFleet extends AsyncDisposable {
  /** Images on disk may have changed. */
  rescan(): void;
  /** Rejects when a host cannot go on. */
  readonly failed: Promise<never>;
}

/** Starts a nodelet for every host, each with an identity that may touch only its own. */
export async function startNodelets(fleet: Fleet, deps: NodeletDeps): Promise<RunningFleet> {
  const ending = new AbortController();
  const { server, clock, random } = deps;
  const images = new Informers({
    client: new ApiClient(server.transportFor(controllerIdentity('informers'))),
    clock,
    random,
  });
  const shared = images.of<Image>(Image);
  images.start();
  const running = await Promise.all(fleet.hosts.map((plan) => startOne(plan, deps, shared, ending.signal)));
  const failed = Promise.race(running.map(({ done }) => done.then(() => new Promise<never>(() => {}))));
  failed.catch(() => {});
  return {
    rescan: () => {
      for (const nodelet of running) nodelet.rescan();
    },
    failed,
    async [Symbol.asyncDispose]() {
      ending.abort(new Error('the hosts are stopping'));
      await Promise.allSettled(running.map(({ done }) => done));
      await images[Symbol.asyncDispose]();
    },
  };
}

async function startOne(
  { name, driver, group }: HostPlan,
  deps: NodeletDeps,
  images: CacheView<Image>,
  signal: AbortSignal,
) {
  const { home, server, store, pki, url, clock, random, log } = deps;
  const uid = await registered(server, name, group);
  const identity = hostIdentity(name, uid);
  const [organization = ''] = identity.groups;
  const leaf = await pki.issueClient({ commonName: identity.user, organizations: [organization], serial: uid });
  const root = home.host(name);
  mkdirSync(root, { recursive: true, mode: 0o700 });
  return runNodelet(
    {
      name,
      driver,
      group,
      images,
      client: new ApiClient(server.transportFor(identity)),
      control: { url, tls: { ca: pki.caCert, ...leaf } },
      clock,
      random,
      log,
      root,
      storeIdentity: async () => ({ uid: store.uid, revision: store.revision() }),
    },
    signal,
  );
}

/** Makes sure the Host object is there, and answers its uid: the host's certificate is bound to it. */
async function registered(server: ApiServer, name: string, group: string | undefined): Promise<string> {
  const hosts = new ApiClient(server.transportFor(OPERATOR)).resource<Host>(Host);
  try {
    return (await hosts.get(name)).metadata.uid;
  } catch (error) {
    if (!(error instanceof ApiError) || error.reason !== 'NotFound') throw error;
  }
  const spec = (group === undefined ? {} : { group }) as Host['spec'];
  const made = await hosts.create({ apiVersion: 'coppice.dev/v1', kind: 'Host', metadata: { name }, spec });
  return made.metadata.uid;
}
