import { ApiClient } from '../../../apiserver/client/client.ts';
import { openFailover } from '../../../apiserver/client/failover-transport.ts';
import type { Connection } from '../../../apiserver/client/https-transport.ts';
import { ServerChoice } from '../../../apiserver/client/server-choice.ts';
import { HostIdentity } from '../../../nodelet/identity/host-identity.ts';
import type { Outside } from '../../../nodelet/outside.ts';
import { runNodelet } from '../../../nodelet/run-nodelet.ts';
import type { NodeletInstance } from '../../../nodelet/streams/control-connection.ts';
import { together } from '../../../nodelet/together.ts';
import type { Clock } from '../../../resources/ambient/clock.ts';
import type { Logger } from '../../../resources/ambient/log.ts';
import type { HostPlan } from '../drivers.ts';
import type { Home } from '../home.ts';
import { RunningFleet } from '../running-fleet.ts';
import type { KnownHost } from './identities.ts';

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
  const hosts = plans.map((plan) => {
    const host = known.find(({ name }) => name === plan.name);
    if (host === undefined) throw new Error(`host ${plan.name} has no identity`);
    return { done: runOne(plan, host, deps, ending.signal) };
  });
  return new RunningFleet(hosts, ending);
}

async function runOne(
  { name, run }: HostPlan,
  { file, credentials }: KnownHost,
  { home, instance, servers: addresses, clock, random, log }: RemoteDeps,
  signal: AbortSignal,
): Promise<void> {
  // Each host begins with a server of its own choice, and what one of its connections learns serves the others.
  const servers = new ServerChoice(addresses, random);
  const identity = new HostIdentity({ name, file, credentials, clock, random, log: log.child({ host: name }) });
  await using transport = openFailover({ servers, clock, random }, (server) => connectionTo(server, identity));
  const client = new ApiClient(transport.send);
  const start = (outside: Outside, ends: AbortSignal) =>
    runNodelet(
      {
        name,
        driver: outside.driver,
        client: new ApiClient(outside.transport(transport.send)),
        instance,
        control: { servers, tls: async () => tlsOf(identity), open: outside.open },
        clock: outside.clock(clock),
        random,
        log,
        root: home.host(name),
        storeIdentity: (asked) => outside.ask((s) => identity.controlPlane(client, s), asked),
      },
      ends,
    ).done;
  await together([(ends) => run(start, ends), (ends) => identity.keep(client, ends)], signal);
}

/** Credentials are read for every request, so that a renewed certificate is used at once. */
function connectionTo(server: string, identity: HostIdentity): Connection {
  return {
    server,
    get ca() {
      return tlsOf(identity).ca;
    },
    get cert() {
      return tlsOf(identity).cert;
    },
    get key() {
      return tlsOf(identity).key;
    },
  };
}

function tlsOf({ credentials: { authorities, certificate, key } }: HostIdentity) {
  return { ca: authorities, cert: certificate, key };
}
