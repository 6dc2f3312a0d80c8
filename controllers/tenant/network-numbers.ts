import type { Tenant } from '../../resources/kinds/tenant.ts';
import type { CacheView } from '../runtime/cache.ts';

/** Which network numbers are given out: those the cache shows, and those just given that it does not show yet. */
export class NetworkNumbers {
  readonly #tenants: CacheView<Tenant>;
  /** By tenant uid. */
  readonly #justGiven = new Map<string, number>();

  constructor(tenants: CacheView<Tenant>) {
    this.#tenants = tenants;
  }

  /** The numbers of all tenants but this one. */
  takenFromOthers(uid: string): ReadonlySet<number> {
    const taken = new Set<number>();
    const present = new Set<string>();
    for (const tenant of this.#tenants.list()) {
      present.add(tenant.metadata.uid);
      const index = tenant.status?.networkIndex;
      if (index !== undefined) this.#justGiven.delete(tenant.metadata.uid);
      if (index !== undefined && tenant.metadata.uid !== uid) taken.add(index);
    }
    for (const [owner, index] of this.#justGiven) {
      if (!present.has(owner)) this.#justGiven.delete(owner);
      else if (owner !== uid) taken.add(index);
    }
    return taken;
  }

  given(uid: string, index: number): void {
    this.#justGiven.set(uid, index);
  }
}
