import type { CoordinationLease } from '../../resources/kinds/coordination-lease.ts';
import { objectKey } from '../../resources/meta/object.ts';
import { HOST_LEASE_NAMESPACE, hostLeaseName } from '../../resources/streams/control-messages.ts';
import type { ResourceCache } from '../cache/resource-cache.ts';

const PREFIX = hostLeaseName('');

/** Which server holds the control socket of a host, as the host's coordination Lease tells. */
export class HostHolders {
  readonly #leases: ResourceCache;

  constructor(leases: ResourceCache) {
    this.#leases = leases;
  }

  /** The name of the server; undefined when nobody holds it. */
  of(host: string): string | undefined {
    const key = objectKey({ namespace: HOST_LEASE_NAMESPACE, name: hostLeaseName(host) });
    return holderIn(this.#leases.get(key)?.object);
  }

  /** Hears of every write of a host's Lease; the returned function stops it. */
  onChange(listener: (host: string, holder: string | undefined) => void): () => void {
    return this.#leases.listen(({ current, removed }) => {
      const { namespace, name } = current.object.metadata;
      if (namespace !== HOST_LEASE_NAMESPACE || !name.startsWith(PREFIX)) return;
      listener(name.slice(PREFIX.length), removed ? undefined : holderIn(current.object));
    });
  }
}

function holderIn(lease: object | undefined): string | undefined {
  const spec = lease === undefined ? undefined : (lease as CoordinationLease).spec;
  return spec?.holderIdentity || undefined;
}
