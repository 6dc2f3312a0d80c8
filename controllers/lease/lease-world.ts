import { HOSTS } from '../../resources/guards/refs.ts';
import { Host } from '../../resources/kinds/host.ts';
import type { Lease } from '../../resources/kinds/lease.ts';
import { Policy } from '../../resources/kinds/policy.ts';
import { Tenant } from '../../resources/kinds/tenant.ts';
import { VM } from '../../resources/kinds/vm.ts';
import { Volume } from '../../resources/kinds/volume.ts';
import { objectKey } from '../../resources/meta/object.ts';
import type { Caches } from '../runtime/informers.ts';
import { ShownWorld } from '../runtime/shown-world.ts';

/** The world as the caches show it, with the grants that they do not show yet. */
export class LeaseWorld extends ShownWorld {
  constructor(informers: Caches) {
    super(informers, [Policy, Tenant, Host, VM, Volume]);
  }

  /** A host with the grants of this duty that the cache does not show yet. */
  host(name: string): Host | undefined {
    return this.world.get(HOSTS, undefined, name);
  }

  /** A lease was given a host: the host's own change comes of the same write, and may be seen later. */
  granted(lease: Lease, host: Host): void {
    const { namespace = '', name, uid } = lease.metadata;
    const claim = { namespace, name, uid, since: lease.status?.grantedAt ?? '' };
    const held: Host = { ...host, status: { ...host.status, lease: claim } };
    this.world.assume(HOSTS, objectKey(host.metadata), held, Number(lease.metadata.resourceVersion));
  }
}
