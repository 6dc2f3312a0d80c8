import { VOLUMES } from '../../resources/guards/refs.ts';
import { Host } from '../../resources/kinds/host.ts';
import { Policy } from '../../resources/kinds/policy.ts';
import { Tenant } from '../../resources/kinds/tenant.ts';
import { VM } from '../../resources/kinds/vm.ts';
import { Volume } from '../../resources/kinds/volume.ts';
import { objectKey } from '../../resources/meta/object.ts';
import type { CacheView } from '../runtime/cache.ts';
import type { Caches } from '../runtime/informers.ts';
import { revisionOf, ShownWorld, UNANSWERED } from '../runtime/shown-world.ts';

/** The world as the caches show it, with this duty's own bindings laid over it until the caches show them too. */
export class VolumeWorld extends ShownWorld {
  readonly #volumes: CacheView<Volume>;

  constructor(informers: Caches) {
    super(informers, [Policy, Tenant, Host, VM, Volume]);
    this.#volumes = informers.of(Volume);
  }

  /** Counts a binding that is being sent. */
  assume(volume: Volume, host: Host): void {
    const bound = {
      ...volume,
      spec: { ...volume.spec, hostName: host.metadata.name },
      status: { ...volume.status, hostUID: host.metadata.uid },
    };
    this.world.assume(VOLUMES, objectKey(volume.metadata), bound, UNANSWERED);
  }

  /** The server took it, and it counts as answered until the cache has caught up; undefined: it did not, and what the cache shows counts. */
  answered(volume: Volume, answer: Volume | undefined): void {
    const key = objectKey(volume.metadata);
    const shown = this.#volumes.get(key);
    this.world.set(VOLUMES, key, shown, UNANSWERED);
    if (answer === undefined || shown === undefined || revisionOf(shown) >= revisionOf(answer)) return;
    this.world.assume(VOLUMES, key, answer, revisionOf(answer));
  }
}
