import { createSecureContext } from 'node:tls';
import { ApiClient } from '../../../apiserver/client/client.ts';
import { openFailover } from '../../../apiserver/client/failover-transport.ts';
import type { Connection } from '../../../apiserver/client/https-transport.ts';
import { ServerChoice } from '../../../apiserver/client/server-choice.ts';
import { HostIdentity } from '../../../nodelet/identity/host-identity.ts';
import type { Credentials } from '../../../nodelet/identity/identity-file.ts';
import type { Outside } from '../../../nodelet/outside.ts';
import { runNodelet } from '../../../nodelet/run-nodelet.ts';
import type { NodeletInstance } from '../../../nodelet/streams/control-connection.ts';
import type { SocketTls } from '../../../nodelet/streams/server-socket.ts';
import { together } from '../../../nodelet/together.ts';
import type { Clock } from '../../../resources/ambient/clock.ts';
import type { Logger } from '../../../resources/ambient/log.ts';
import type { HostPlan } from '../drivers.ts';
import type { Home } from '../home.ts';
import { RunningFleet } from '../running-fleet.ts';
import { Arrivals } from './arrivals.ts';
import type { KnownHost } from './identities.ts';
import { SharedImages } from './shared-images.ts';

interface RemoteDeps {
  readonly home: Pick<Home, 'host'>;
  /** This process, as servers tell it from that of a copied home. */
  readonly instance: NodeletInstance;
  readonly servers: readonly string[];
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
}

/** Starts a nodelet for every host, each under its own identity and turning to whichever server is there. */
export function startRemoteNodelets(
  plans: readonly HostPlan[],
  known: readonly KnownHost[],
  deps: RemoteDeps,
): RunningFleet {
  const ending = new AbortController();
  const hosts = plans.map((plan) => new RemoteHost(plan, hostOf(plan, known), deps));
  const images = new SharedImages(
    hosts.map(({ transport }) => transport.send),
    deps,
  );
  const arrivals = new Arrivals();
  const done = hosts.map((host) => ({ done: host.run(images, arrivals, ending.signal) }));
  return new RunningFleet([...done, { done: images.run(ending.signal) }], ending);
}

function hostOf({ name }: HostPlan, known: readonly KnownHost[]): KnownHost {
  const host = known.find((each) => each.name === name);
  if (host === undefined) throw new Error(`host ${name} has no identity`);
  return host;
}

class RemoteHost {
  readonly transport: ReturnType<typeof openFailover>;
  readonly #plan: HostPlan;
  readonly #deps: RemoteDeps;
  readonly #servers: ServerChoice;
  readonly #identity: HostIdentity;
  readonly #tls: HostTls;

  constructor(plan: HostPlan, { name, file, credentials }: KnownHost, deps: RemoteDeps) {
    const { clock, random, log } = deps;
    this.#plan = plan;
    this.#deps = deps;
    // Each host begins with a server of its own choice, and what one of its connections learns serves the others.
    this.#servers = new ServerChoice(deps.servers, random);
    const identity = new HostIdentity({ name, file, credentials, clock, random, log: log.child({ host: name }) });
    this.#identity = identity;
    const tls = new HostTls(identity);
    this.#tls = tls;
    this.transport = openFailover({ servers: this.#servers, clock, random }, (server) => connectionTo(server, tls));
  }

  /** Runs until the signal aborts. Call it once. */
  async run(images: SharedImages, arrivals: Arrivals, signal: AbortSignal): Promise<void> {
    await using transport = this.transport;
    const client = new ApiClient(transport.send);
    await arrivals.enter(() => this.#identity.controlPlane(client, signal), signal).catch(() => {});
    if (signal.aborted) return;
    const start = (outside: Outside, ends: AbortSignal) => this.#runNodelet(outside, client, images, ends);
    await together([(ends) => this.#plan.run(start, ends), (ends) => this.#identity.keep(client, ends)], signal);
  }

  #runNodelet(outside: Outside, client: ApiClient, images: SharedImages, signal: AbortSignal): Promise<void> {
    const { home, instance, clock, random, log } = this.#deps;
    const { name } = this.#plan;
    const identity = this.#identity;
    return runNodelet(
      {
        name,
        driver: outside.driver,
        images: images.cache,
        relistImages: () => images.relist(),
        client: new ApiClient(outside.transport(this.transport.send)),
        instance,
        control: { servers: this.#servers, tls: async () => this.#tls.now(), open: outside.open },
        clock: outside.clock(clock),
        random,
        log,
        root: home.host(name),
        storeIdentity: (asked) => outside.ask((s) => identity.controlPlane(client, s), asked),
      },
      signal,
    ).done;
  }
}

/** Read for every request, so that a renewed certificate is used at once. */
function connectionTo(server: string, tls: HostTls): Connection {
  return {
    server,
    get ca() {
      return tls.now().ca;
    },
    get cert() {
      return tls.now().cert;
    },
    get key() {
      return tls.now().key;
    },
    get secureContext() {
      return tls.now().secureContext;
    },
  };
}

/** What the connections of a host are opened with; made anew when its credentials are others. */
class HostTls {
  readonly #identity: HostIdentity;
  #made: { readonly from: Credentials; readonly tls: Required<SocketTls> } | undefined;

  constructor(identity: HostIdentity) {
    this.#identity = identity;
  }

  now(): Required<SocketTls> {
    const { credentials: from } = this.#identity;
    if (this.#made?.from !== from) {
      const tls = { ca: from.authorities, cert: from.certificate, key: from.key };
      this.#made = { from, tls: { ...tls, secureContext: createSecureContext(tls) } };
    }
    return this.#made.tls;
  }
}
