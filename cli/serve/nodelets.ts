import { mkdirSync } from 'node:fs';
import { arch, platform } from 'node:os';
import { controllerIdentity, hostIdentity, OPERATOR } from '../../apiserver/auth/identity.ts';
import { ApiClient } from '../../apiserver/client/client.ts';
import { ServerChoice } from '../../apiserver/client/server-choice.ts';
import { type KeyPair, shouldRenew } from '../../apiserver/pki/leaf-life.ts';
import type { Pki } from '../../apiserver/pki/pki-files.ts';
import type { ApiServer } from '../../apiserver/server.ts';
import type { Store } from '../../apiserver/store/store.ts';
import type { CacheView } from '../../controllers/runtime/cache.ts';
import { Informers } from '../../controllers/runtime/informers.ts';
import type { Outside } from '../../nodelet/outside.ts';
import { type RunningNodelet, runNodelet } from '../../nodelet/run-nodelet.ts';
import type { SocketTls } from '../../nodelet/streams/server-socket.ts';
import type { Clock } from '../../resources/ambient/clock.ts';
import type { Logger } from '../../resources/ambient/log.ts';
import { Host } from '../../resources/kinds/host.ts';
import { Image } from '../../resources/kinds/image.ts';
import { ApiError } from '../../resources/meta/api-error.ts';
import type { HostPlan } from './drivers.ts';
import type { Home } from './home.ts';
import { RunningFleet } from './running-fleet.ts';

interface NodeletDeps {
  readonly home: Pick<Home, 'host'>;
  readonly server: ApiServer;
  readonly store: Pick<Store, 'uid' | 'revision'>;
  readonly pki: Pick<Pki, 'caCert' | 'issueClient' | 'isCurrent'>;
  /** The server's own address, for control sockets. */
  readonly url: string;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
}

/** Starts a nodelet for every host, each with an identity that may touch only its own. */
export async function startNodelets(
  hosts: readonly HostPlan[],
  deps: NodeletDeps,
): Promise<Pick<RunningFleet, 'failed'> & AsyncDisposable> {
  const ending = new AbortController();
  const { server, home, clock, random } = deps;
  for (const { name } of hosts) mkdirSync(home.host(name), { recursive: true, mode: 0o700 });
  await Promise.all(hosts.map((plan) => register(plan, server)));
  const images = new Informers({
    client: new ApiClient(server.transportFor(controllerIdentity('informers'))),
    clock,
    random,
  });
  const shared = images.of<Image>(Image);
  images.start();
  const fleet = new RunningFleet(
    hosts.map((plan) => startOne(plan, deps, shared, ending.signal)),
    ending,
  );
  return {
    failed: fleet.failed,
    async [Symbol.asyncDispose]() {
      await fleet[Symbol.asyncDispose]();
      await images[Symbol.asyncDispose]();
    },
  };
}

/** Makes the Host in its group, which is the operator's to say: a nodelet makes its Host itself only when it was deleted, and then in the default group. */
async function register({ name, group, real }: HostPlan, server: ApiServer): Promise<void> {
  const hosts = new ApiClient(server.transportFor(OPERATOR)).resource<Host>(Host);
  const spec = (group === undefined ? {} : { group }) as Host['spec'];
  try {
    await hosts.create({
      apiVersion: 'coppice.dev/v1',
      kind: 'Host',
      metadata: { name, labels: labelsOf(name, real) },
      spec,
    });
  } catch (error) {
    if (!(error instanceof ApiError) || error.reason !== 'AlreadyExists') throw error;
  }
}

/** What selectors may ask for from the start, under the names Kubernetes uses. Simulated hosts are Macs. */
function labelsOf(name: string, real: boolean): Record<string, string> {
  const architecture = arch() === 'x64' ? 'amd64' : arch();
  return {
    'kubernetes.io/hostname': name,
    'kubernetes.io/os': real ? platform() : 'darwin',
    'kubernetes.io/arch': real ? architecture : 'arm64',
  };
}

function startOne(
  { name, run }: HostPlan,
  deps: NodeletDeps,
  images: CacheView<Image>,
  signal: AbortSignal,
): Pick<RunningNodelet, 'done'> {
  const { home, server, store, url, clock, random, log } = deps;
  const storeIdentity = async () => ({ uid: store.uid, revision: store.revision() });
  const start = (outside: Outside, ends: AbortSignal) => {
    // By name alone: the Host may be deleted and made again while we run.
    const client = new ApiClient(outside.transport(server.transportFor(hostIdentity(name))));
    const tls = hostTls(name, client, deps);
    return runNodelet(
      {
        name,
        driver: outside.driver,
        images,
        client,
        control: { servers: new ServerChoice([url], random), tls, open: outside.open },
        clock: outside.clock(clock),
        random,
        log,
        root: home.host(name),
        storeIdentity: (asked) => outside.ask(storeIdentity, asked),
      },
      ends,
    ).done;
  };
  return { done: run(start, signal) };
}

/** The certificate of a host's sockets, bound to the uid its Host has now; made anew when that is another one, when it grows old, and when another authority issues. */
function hostTls(name: string, client: ApiClient, { pki, clock }: NodeletDeps): () => Promise<SocketTls> {
  let kept: { readonly uid: string; readonly pair: KeyPair } | undefined;
  return async () => {
    const { uid } = (await client.resource<Host>(Host).get(name)).metadata;
    if (kept?.uid !== uid || !pki.isCurrent(kept.pair) || shouldRenew(kept.pair.cert, [], clock.now())) {
      const { user, groups } = hostIdentity(name);
      const organizations = groups.slice(0, 1);
      kept = { uid, pair: await pki.issueClient({ commonName: user, organizations, serial: uid }) };
    }
    return { ca: pki.caCert, ...kept.pair };
  };
}
