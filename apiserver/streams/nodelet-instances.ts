import type { Clock } from '../../resources/ambient/clock.ts';
import { CoordinationLease } from '../../resources/kinds/coordination-lease.ts';
import { ApiError } from '../../resources/meta/api-error.ts';
import { objectKey } from '../../resources/meta/object.ts';
import {
  HOST_LEASE_NAMESPACE,
  HOST_LEASE_RENEWAL_MS,
  hostLeaseName,
  INSTANCE_ANNOTATION,
  PING_INTERVAL_MS,
  SECOND_NODELET_CLOSE,
  WHERE_ANNOTATION,
} from '../../resources/streams/control-messages.ts';
import type { ResourceCache } from '../cache/resource-cache.ts';
import { ApiClient } from '../client/client.ts';
import type { Transport } from '../client/transport.ts';
import { unless } from '../client/unless.ts';
import { type ControlHub, unavailable } from './control-hub.ts';

/** One process of a host's nodelet. */
export interface NodeletInstance {
  readonly id: string;
  /** Where people find it. */
  readonly where: string;
}

interface NodeletInstancesDeps {
  readonly hub: ControlHub;
  readonly leases: ResourceCache;
  /** Resolves when the cache shows all that was written before. */
  readonly caughtUp: (signal: AbortSignal) => Promise<void>;
  /** Whether another server has been heard of lately. */
  readonly isAlive: (server: string) => boolean;
  readonly serverName: string;
  readonly clock: Clock;
}

/** Somebody else wants to speak for a host: since when, and what its Lease said then. */
interface Challenge {
  readonly leaseThen: string;
  readonly sinceMs: number;
}

/** The socket was seen to close: time for a living nodelet to come back, which it does at once. */
const CLOSED_MS = 3_000;
/** Nobody saw it close: the longest that a nodelet takes to find that its server is gone, and to try again. */
const UNSEEN_MS = 4 * PING_INTERVAL_MS;
/** Another server holds the socket, and renews that each minute. */
const HELD_MS = HOST_LEASE_RENEWAL_MS + UNSEEN_MS;
const MAX_WHERE = 200;
const PREFIX = hostLeaseName('');

/**
 * Sees to it that one process at a time speaks for a host, whichever server it comes to: two have the same identity when a home was copied.
 * Who it is stands in the host's coordination Lease, written by compare before its socket is taken. Another is taken only when that one is gone and has not
 * come back for a while, by this process's own clock.
 */
export class NodeletInstances {
  readonly #deps: NodeletInstancesDeps;
  readonly #challenges = new Map<string, Challenge>();
  #transport: Transport | undefined;

  constructor(deps: NodeletInstancesDeps) {
    this.#deps = deps;
  }

  /** Takes nodelets from now on, and lets go of one that another server took another for, until the returned function is called. */
  begin(transport: Transport): () => void {
    const { hub, leases } = this.#deps;
    this.#transport = transport;
    const stopLeases = leases.listen(({ current, removed }) => {
      const { namespace, name } = current.object.metadata;
      if (!removed && namespace === HOST_LEASE_NAMESPACE && name.startsWith(PREFIX))
        this.#compare(name.slice(PREFIX.length), current.object as CoordinationLease);
    });
    // Its turn may have passed to another between the look at the Lease and the end of the handshake.
    const stopHub = hub.onChange((host, connected) => {
      const key = objectKey({ namespace: HOST_LEASE_NAMESPACE, name: hostLeaseName(host) });
      const lease = leases.get(key)?.object;
      if (connected && lease !== undefined) this.#compare(host, lease as CoordinationLease);
    });
    return () => {
      stopLeases();
      stopHub();
    };
  }

  /** Resolves when this process is the one that speaks for the host. Throws `Conflict`, which names the other, when that is or may be at work. */
  async admit(host: string, instance: NodeletInstance, signal: AbortSignal): Promise<void> {
    if (this.#transport === undefined) throw unavailable('the server is not ready to take hosts');
    const leases = new ApiClient(this.#transport).resource<CoordinationLease>(CoordinationLease, HOST_LEASE_NAMESPACE);
    const name = hostLeaseName(host);
    const annotations = { [INSTANCE_ANNOTATION]: instance.id, [WHERE_ANNOTATION]: printable(instance.where) };
    for (;;) {
      await this.#deps.caughtUp(signal);
      const lease = await leases.get(name, signal).catch(unless('NotFound'));
      if (lease === undefined) {
        const object = {
          apiVersion: 'coordination.k8s.io/v1',
          kind: 'Lease',
          metadata: { name, annotations },
          spec: {},
        };
        await leases.create(object, {}, signal).catch(unless('AlreadyExists'));
        continue;
      }
      this.#judge(host, instance, lease);
      if (instanceIn(lease) === instance.id) return this.forget(host);
      const { resourceVersion } = lease.metadata;
      const patch = { metadata: { resourceVersion, annotations } };
      await leases.patch(name, patch, {}, signal).catch(unless('Conflict'));
    }
  }

  /** Nobody waits for its turn any more: it has it, or the host is no more. */
  forget(host: string): void {
    this.#challenges.delete(host);
  }

  #compare(host: string, lease: CoordinationLease): void {
    const { hub } = this.#deps;
    const [here, there] = [hub.instanceOf(host), instanceIn(lease)];
    if (here !== undefined && there !== undefined && here !== there)
      hub.drop(host, 'another nodelet of this host is at work', SECOND_NODELET_CLOSE);
  }

  #judge(host: string, { id }: NodeletInstance, lease: CoordinationLease): void {
    const incumbent = instanceIn(lease);
    const here = this.#deps.hub.instanceOf(host);
    if (here !== undefined && here !== id) throw second(host, lease);
    if (incumbent === undefined || incumbent === id) return;
    const nowMs = this.#deps.clock.monotonic();
    const { holderIdentity, renewTime } = lease.spec ?? {};
    const leaseThen = [incumbent, holderIdentity, renewTime].join('\n');
    const before = this.#challenges.get(host);
    const challenge = before?.leaseThen === leaseThen ? before : { leaseThen, sinceMs: nowMs };
    this.#challenges.set(host, challenge);
    if (nowMs - challenge.sinceMs < this.#patienceMs(holderIdentity)) throw second(host, lease);
  }

  #patienceMs(holder: string | null | undefined): number {
    const { isAlive, serverName } = this.#deps;
    if (!holder) return CLOSED_MS;
    return holder !== serverName && isAlive(holder) ? HELD_MS : UNSEEN_MS;
  }
}

function instanceIn(lease: CoordinationLease): string | undefined {
  return lease.metadata.annotations?.[INSTANCE_ANNOTATION];
}

function second(host: string, lease: CoordinationLease): ApiError {
  const where = lease.metadata.annotations?.[WHERE_ANNOTATION] || 'a place it does not tell';
  const message = `another nodelet speaks for host ${host}: ${where}`;
  return new ApiError('Conflict', message, { details: { causes: [{ reason: 'SecondNodelet', message }] } });
}

/** What a nodelet says of itself ends up in logs and tables. */
function printable(text: string): string {
  return text.replaceAll(/\p{C}/gu, '').slice(0, MAX_WHERE);
}
