import { HOSTS, IMAGES, POLICIES, POOLS, type Ref, TENANTS, VMS } from '../../resources/guards/refs.ts';
import { World } from '../../resources/guards/world.ts';
import { Host } from '../../resources/kinds/host.ts';
import { Image } from '../../resources/kinds/image.ts';
import { Policy } from '../../resources/kinds/policy.ts';
import { Pool } from '../../resources/kinds/pool.ts';
import { Tenant } from '../../resources/kinds/tenant.ts';
import { VM } from '../../resources/kinds/vm.ts';
import type { KubeObject } from '../../resources/meta/object.ts';
import type { Change } from '../runtime/cache.ts';
import { follow, type Watch } from '../runtime/duty.ts';
import type { Caches } from '../runtime/informers.ts';

/** The world as the caches show it, with its sums. */
export class PoolWorld {
  readonly world = new World();
  /** Keep the world up with the caches; must be started before anything is decided. */
  readonly watches: readonly Watch[];

  constructor(informers: Caches) {
    this.watches = [
      follow(informers.of(Policy), (change) => this.#take(POLICIES, change)),
      follow(informers.of(Tenant), (change) => this.#take(TENANTS, change)),
      follow(informers.of(Image), (change) => this.#take(IMAGES, change)),
      follow(informers.of(Host), (change) => this.#take(HOSTS, change)),
      follow(informers.of(Pool), (change) => this.#take(POOLS, change)),
      follow(informers.of(VM), (change) => this.#take(VMS, change)),
    ];
  }

  #take<T extends KubeObject>(kind: Ref<T>, { key, after }: Change<T>): void {
    // Nothing is laid over what the caches show, so no revision matters.
    this.world.set(kind, key, after, 0);
  }
}
