import { type Clock, microTime } from '../../resources/ambient/clock.ts';
import type { Logger } from '../../resources/ambient/log.ts';
import { CoordinationLease } from '../../resources/kinds/coordination-lease.ts';
import {
  HOST_LEASE_NAMESPACE,
  HOST_LEASE_RENEWAL_MS,
  hostLeaseName,
} from '../../resources/streams/control-messages.ts';
import { ApiClient } from '../client/client.ts';
import type { Transport } from '../client/transport.ts';
import { unless } from '../client/unless.ts';
import { isStoreAway } from '../servers/is-store-away.ts';
import type { ControlHub } from './control-hub.ts';
import type { HostHolders } from './host-holders.ts';

interface PresenceDeps {
  readonly hub: ControlHub;
  readonly holders: HostHolders;
  readonly transport: Transport;
  /** Who holds the sockets: this server. */
  readonly serverName: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Why a Lease is written: the socket came, it went, or it is still there. */
type Why = 'came' | 'went' | 'stays';

/** How long a server whose host another claims too waits for a sign of life before it claims it back. */
const CONTEST_MS = 2_000;

/**
 * Writes each host's coordination Lease: when its control socket comes or goes, and every minute while it stays. In between, the socket itself
 * is the heartbeat and costs no write.
 *
 * With several servers the one that the host connected to last is its holder. A server writes over another's name only when the host comes to it, or
 * has just answered it: the writes of two servers may arrive in another order than the host's connections, and a socket whose host has gone
 * elsewhere may look alive for half a minute.
 */
export async function keepPresence(deps: PresenceDeps, signal: AbortSignal): Promise<void> {
  const { hub, holders, clock, serverName } = deps;
  const pending = new Map<string, Promise<void>>();
  const contests = new Map<string, () => void>();
  const write = (host: string, why: Why) => {
    const turn = (pending.get(host) ?? Promise.resolve()).then(() => writeLease(deps, host, why, signal));
    pending.set(host, turn);
    void turn.finally(() => pending.get(host) === turn && pending.delete(host));
  };
  const contest = (host: string) => {
    const heardBefore = hub.probe(host) ?? 0;
    const decide = () => {
      contests.delete(host);
      const heard = hub.probe(host) ?? 0;
      if (heard > heardBefore && holders.of(host) !== serverName) write(host, 'came');
    };
    contests.set(host, clock.after(CONTEST_MS, decide));
  };
  const stop = hub.onChange((host, connected) => write(host, connected ? 'came' : 'went'));
  const isContested = (host: string) => holders.of(host) !== serverName && hub.has(host) && !pending.has(host);
  const stopHearing = holders.onChange((host) => {
    if (isContested(host) && !contests.has(host)) contest(host);
  });
  try {
    for (const host of hub.hosts()) write(host, 'came');
    for (;;) {
      await clock.sleep(HOST_LEASE_RENEWAL_MS, signal);
      for (const host of hub.hosts()) {
        if (!isContested(host)) write(host, 'stays');
        else if (!contests.has(host)) contest(host);
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    stop();
    stopHearing();
    for (const cancel of contests.values()) cancel();
    await Promise.all(pending.values());
  }
}

/** Writes what is true now: an older turn of the queue never overwrites a newer one. */
async function writeLease(deps: PresenceDeps, host: string, why: Why, signal: AbortSignal): Promise<void> {
  const { hub, holders, serverName, log } = deps;
  const connected = hub.has(host);
  const ours = holders.of(host) === serverName;
  if (connected && why === 'stays' && !ours && holders.of(host) !== undefined) return;
  try {
    if (connected) await claim(deps, host, signal);
    else await letGo(deps, host, signal);
  } catch (error) {
    if (!signal.aborted && !isStoreAway(error)) log.error('host lease not written', { host, error: String(error) });
  }
}

async function claim(deps: PresenceDeps, host: string, signal: AbortSignal): Promise<void> {
  const leases = leasesOf(deps);
  const name = hostLeaseName(host);
  const spec = { ...renewal(deps), holderIdentity: deps.serverName };
  const object = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name }, spec };
  for (;;) {
    if ((await leases.patch(name, { spec }, {}, signal).catch(unless('NotFound'))) !== undefined) return;
    if ((await leases.create(object, {}, signal).catch(unless('AlreadyExists'))) !== undefined) return;
  }
}

/** The host may have connected to another server already, whose name then stays. */
async function letGo(deps: PresenceDeps, host: string, signal: AbortSignal): Promise<void> {
  const leases = leasesOf(deps);
  const name = hostLeaseName(host);
  for (;;) {
    const lease = await leases.get(name, signal).catch(unless('NotFound'));
    if (lease?.spec?.holderIdentity !== deps.serverName) return;
    const { resourceVersion } = lease.metadata;
    const patch = { metadata: { resourceVersion }, spec: { ...renewal(deps), holderIdentity: null } };
    if ((await leases.patch(name, patch, {}, signal).catch(unless('Conflict'))) !== undefined) return;
  }
}

const leasesOf = ({ transport }: PresenceDeps) =>
  new ApiClient(transport).resource<CoordinationLease>(CoordinationLease, HOST_LEASE_NAMESPACE);

const renewal = ({ clock }: PresenceDeps) => ({
  leaseDurationSeconds: HOST_LEASE_RENEWAL_MS / 1000,
  renewTime: microTime(clock.now()),
});
