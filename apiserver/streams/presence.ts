import type { Clock } from '../../resources/ambient/clock.ts';
import { rfc3339 } from '../../resources/ambient/clock.ts';
import type { Logger } from '../../resources/ambient/log.ts';
import type { CoordinationLease } from '../../resources/kinds/coordination-lease.ts';
import { ApiError } from '../../resources/meta/api-error.ts';
import type { ResourceRef } from '../../resources/meta/define-kind.ts';
import {
  HOST_LEASE_NAMESPACE,
  HOST_LEASE_RENEWAL_MS,
  hostLeaseName,
} from '../../resources/streams/control-messages.ts';
import { ApiClient } from '../client/client.ts';
import type { Transport } from '../client/transport.ts';
import type { ControlHub } from './control-hub.ts';

const LEASES: ResourceRef = {
  group: 'coordination.k8s.io',
  version: 'v1',
  plural: 'leases',
  kind: 'Lease',
  namespaced: true,
};

export interface PresenceDeps {
  readonly hub: ControlHub;
  readonly transport: Transport;
  /** Who holds the sockets: this server. */
  readonly serverName: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Writes each host's coordination Lease: when its control socket comes or goes, and every minute while it stays. In between, the socket itself
 * is the heartbeat and costs no write.
 */
export async function keepPresence(deps: PresenceDeps, signal: AbortSignal): Promise<void> {
  const pending = new Map<string, Promise<void>>();
  const write = (host: string) => {
    const turn = (pending.get(host) ?? Promise.resolve()).then(() => writeLease(deps, host, signal));
    pending.set(host, turn);
    void turn.finally(() => pending.get(host) === turn && pending.delete(host));
  };
  const stop = deps.hub.onChange((host) => write(host));
  try {
    for (const host of deps.hub.hosts()) write(host);
    for (;;) {
      await deps.clock.sleep(HOST_LEASE_RENEWAL_MS, signal);
      for (const host of deps.hub.hosts()) write(host);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    stop();
    await Promise.all(pending.values());
  }
}

/** Writes what is true now: an older turn of the queue never overwrites a newer one. */
async function writeLease(
  { hub, transport, serverName, clock, log }: PresenceDeps,
  host: string,
  signal: AbortSignal,
): Promise<void> {
  const leases = new ApiClient(transport).resource<CoordinationLease>(LEASES, HOST_LEASE_NAMESPACE);
  const connected = hub.hosts().includes(host);
  const spec = {
    holderIdentity: connected ? serverName : null,
    leaseDurationSeconds: HOST_LEASE_RENEWAL_MS / 1000,
    renewTime: rfc3339(clock.now()).replace('Z', '.000000Z'),
  };
  const name = hostLeaseName(host);
  try {
    await leases.patch(name, { spec }, {}, signal);
  } catch (error) {
    if (signal.aborted) return;
    if (!(error instanceof ApiError) || error.reason !== 'NotFound')
      return log.error('host lease not written', { host, error: String(error) });
    if (!connected) return;
    const object = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name },
      spec: { ...spec, holderIdentity: serverName },
    };
    await leases.create(object, {}, signal).catch((again) => {
      if (!signal.aborted) log.error('host lease not created', { host, error: String(again) });
    });
  }
}
