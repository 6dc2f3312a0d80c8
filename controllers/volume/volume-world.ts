import { HOSTS, POLICIES, type Ref, TENANTS, VMS, VOLUMES } from '../../resources/guards/refs.ts';
import { World } from '../../resources/guards/world.ts';
import { Host } from '../../resources/kinds/host.ts';
import { Policy } from '../../resources/kinds/policy.ts';
import { Tenant } from '../../resources/kinds/tenant.ts';
import { VM } from '../../resources/kinds/vm.ts';
import { Volume } from '../../resources/kinds/volume.ts';
import { type KubeObject, objectKey } from '../../resources/meta/object.ts';
import type { CacheView, Change } from '../runtime/cache.ts';
import { follow, type Watch } from '../runtime/duty.ts';
import type { Caches } from '../runtime/informers.ts';

/** A binding that was sent and not answered counts until it is; no revision the cache shows ends it. */
const UNANSWERED = Number.MAX_SAFE_INTEGER;

/** The world as the caches show it, with this duty's own bindings laid over it until the caches show them too. */
export class VolumeWorld {
  readonly world = new World();
  /** Keep the world up with the caches; must be started before anything is decided. */
  readonly watches: readonly Watch[];
  readonly #volumes: CacheView<Volume>;

  constructor(informers: Caches) {
    this.#volumes = informers.of(Volume);
    this.watches = [
      follow(informers.of(Policy), (change) => this.#take(POLICIES, change)),
      follow(informers.of(Tenant), (change) => this.#take(TENANTS, change)),
      follow(informers.of(Host), (change) => this.#take(HOSTS, change)),
      follow(informers.of(VM), (change) => this.#take(VMS, change)),
      follow(this.#volumes, (change) => this.#take(VOLUMES, change)),
    ];
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

  #take<T extends KubeObject>(kind: Ref<T>, { key, before, after }: Change<T>): void {
    const isNew = after === undefined || (before !== undefined && before.metadata.uid !== after.metadata.uid);
    // A removal has no revision here, and nothing assumed of an object outlives it.
    this.world.set(kind, key, after, isNew ? UNANSWERED - 1 : revisionOf(after));
  }
}

/** Revisions of one store are whole numbers that grow. */
function revisionOf(object: KubeObject): number {
  return Number(object.metadata.resourceVersion);
}
