import { HOSTS, POLICIES, type Ref, TENANTS, VMS, VOLUMES } from '../../resources/guards/refs.ts';
import { World } from '../../resources/guards/world.ts';
import { Host } from '../../resources/kinds/host.ts';
import type { Lease } from '../../resources/kinds/lease.ts';
import { Policy } from '../../resources/kinds/policy.ts';
import { Tenant } from '../../resources/kinds/tenant.ts';
import { VM } from '../../resources/kinds/vm.ts';
import { Volume } from '../../resources/kinds/volume.ts';
import { type KubeObject, objectKey } from '../../resources/meta/object.ts';
import type { Change } from '../runtime/cache.ts';
import { follow, type Watch } from '../runtime/duty.ts';
import type { Caches } from '../runtime/informers.ts';

/** The world as the caches show it, with the grants that they do not show yet. */
export class LeaseWorld {
  readonly world = new World();
  /** Keep the world up with the caches; must be started before anything is decided. */
  readonly watches: readonly Watch[];

  constructor(informers: Caches) {
    this.watches = [
      follow(informers.of(Policy), (change) => this.#take(POLICIES, change)),
      follow(informers.of(Tenant), (change) => this.#take(TENANTS, change)),
      follow(informers.of(Host), (change) => this.#take(HOSTS, change)),
      follow(informers.of(VM), (change) => this.#take(VMS, change)),
      follow(informers.of(Volume), (change) => this.#take(VOLUMES, change)),
    ];
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

  #take<T extends KubeObject>(kind: Ref<T>, { key, before, after }: Change<T>): void {
    const isNew = after === undefined || (before !== undefined && before.metadata.uid !== after.metadata.uid);
    const revision = isNew ? Number.MAX_SAFE_INTEGER : Number(after.metadata.resourceVersion);
    this.world.set(kind, key, after, revision);
  }
}
