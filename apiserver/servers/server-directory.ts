import type { Clock } from '../../resources/ambient/clock.ts';
import type { CoordinationLease } from '../../resources/kinds/coordination-lease.ts';
import { objectKey } from '../../resources/meta/object.ts';
import { HOST_LEASE_NAMESPACE } from '../../resources/streams/control-messages.ts';
import {
  ADDRESS_ANNOTATION,
  APISERVER_COMPONENT,
  COMPONENT_LABEL,
  SERVER_LEASE_SECONDS,
  serverLeaseName,
} from '../../resources/streams/server-leases.ts';
import type { CacheEvent, ResourceCache } from '../cache/resource-cache.ts';

/** The Lease of one server, and for how long it has been as it is: by this process's own clock, so that no two clocks are compared. */
interface ServerSighting {
  readonly lease: CoordinationLease;
  readonly unchangedMs: number;
}

const PREFIX = serverLeaseName('');

/** The API servers of this store, as their Leases tell. Counts from when it was made: a server that died before then is trusted for one period more. */
export class ServerDirectory implements Disposable {
  readonly #leases: ResourceCache;
  readonly #clock: Clock;
  /** When the Lease of each last changed before our eyes. */
  readonly #changedAt = new Map<string, number>();
  readonly #stop: () => void;

  constructor(leases: ResourceCache, clock: Clock) {
    this.#leases = leases;
    this.#clock = clock;
    for (const { object } of leases.sorted()) {
      if (isServerLease(object)) this.#changedAt.set(object.metadata.name, clock.monotonic());
    }
    this.#stop = leases.listen((event) => this.#see(event));
  }

  /** The name of every server with a Lease. */
  names(): readonly string[] {
    return [...this.#changedAt.keys()].map((lease) => lease.slice(PREFIX.length));
  }

  find(name: string): ServerSighting | undefined {
    const leaseName = serverLeaseName(name);
    const stored = this.#leases.get(objectKey({ namespace: HOST_LEASE_NAMESPACE, name: leaseName }));
    const changedAt = this.#changedAt.get(leaseName);
    if (stored === undefined || changedAt === undefined) return undefined;
    return { lease: stored.object as CoordinationLease, unchangedMs: this.#clock.monotonic() - changedAt };
  }

  /** Where a server is reached that has been heard of lately. */
  addressOf(name: string): string | undefined {
    const found = this.find(name);
    if (found === undefined || found.unchangedMs > SERVER_LEASE_SECONDS * 1000) return undefined;
    return found.lease.metadata.annotations?.[ADDRESS_ANNOTATION];
  }

  [Symbol.dispose](): void {
    this.#stop();
  }

  #see({ current, removed }: CacheEvent): void {
    const lease = current.object as CoordinationLease;
    if (!isServerLease(lease)) return;
    if (removed) this.#changedAt.delete(lease.metadata.name);
    else this.#changedAt.set(lease.metadata.name, this.#clock.monotonic());
  }
}

function isServerLease({ metadata }: Pick<CoordinationLease, 'metadata'>): boolean {
  const { namespace, name, labels } = metadata;
  if (namespace !== HOST_LEASE_NAMESPACE || !name.startsWith(PREFIX)) return false;
  return labels?.[COMPONENT_LABEL] === APISERVER_COMPONENT;
}
