import { HOSTS, IMAGES, POLICIES, POOLS, type Ref, TENANTS, VMS, VOLUMES } from '../../resources/guards/refs.ts';
import { World } from '../../resources/guards/world.ts';
import { Host } from '../../resources/kinds/host.ts';
import { Image } from '../../resources/kinds/image.ts';
import { Policy } from '../../resources/kinds/policy.ts';
import { Pool } from '../../resources/kinds/pool.ts';
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
export class PlacementWorld {
  readonly world = new World();
  /** Keep the world up with the caches; must be started before anything is decided. */
  readonly watches: readonly Watch[];
  readonly #vms: CacheView<VM>;

  constructor(informers: Caches) {
    this.#vms = informers.of(VM);
    this.watches = [
      follow(informers.of(Policy), (change) => this.#take(POLICIES, change)),
      follow(informers.of(Host), (change) => this.#take(HOSTS, change)),
      follow(informers.of(Tenant), (change) => this.#take(TENANTS, change)),
      follow(informers.of(Image), (change) => this.#take(IMAGES, change)),
      follow(informers.of(Pool), (change) => this.#take(POOLS, change)),
      follow(informers.of(Volume), (change) => this.#take(VOLUMES, change)),
      follow(this.#vms, (change) => this.#take(VMS, change)),
    ];
  }

  /** Counts a binding that is being sent. The member whose guest it takes is gone with it. */
  assume(bound: VM, member?: VM): void {
    this.world.assume(VMS, objectKey(bound.metadata), bound, UNANSWERED);
    if (member !== undefined) this.world.assume(VMS, objectKey(member.metadata), undefined, UNANSWERED);
  }

  /** The server took it: it counts as answered until the cache has caught up. */
  confirm(answer: VM, member?: VM): void {
    const key = objectKey(answer.metadata);
    const revision = revisionOf(answer);
    this.#drop(key);
    const shown = this.#vms.get(key);
    // Not shown yet and never to be shown (already deleted) look alike; the removal's own change ends it then.
    if (shown !== undefined && revisionOf(shown) < revision) this.world.assume(VMS, key, answer, revision);
    if (member !== undefined) this.#confirmTaken(member, revision);
  }

  /** The server did not take it, or nobody knows: what the cache shows counts. */
  retract(vm: VM, member?: VM): void {
    this.#drop(objectKey(vm.metadata));
    if (member !== undefined) this.#drop(objectKey(member.metadata));
  }

  #confirmTaken({ metadata }: VM, revision: number): void {
    const key = objectKey(metadata);
    this.#drop(key);
    if (this.#vms.get(key)?.metadata.uid === metadata.uid) this.world.assume(VMS, key, undefined, revision);
  }

  #drop(key: string): void {
    this.world.set(VMS, key, this.#vms.get(key), UNANSWERED);
  }

  #take<T extends KubeObject>(kind: Ref<T>, { key, before, after }: Change<T>): void {
    // A removal has no revision here, and nothing assumed of an object outlives it.
    const revision = after === undefined || isAnother(before, after) ? UNANSWERED - 1 : revisionOf(after);
    this.world.set(kind, key, after, revision);
  }
}

function isAnother(before: KubeObject | undefined, after: KubeObject): boolean {
  return before !== undefined && before.metadata.uid !== after.metadata.uid;
}

/** Revisions of one store are whole numbers that grow. */
function revisionOf(object: KubeObject): number {
  return Number(object.metadata.resourceVersion);
}
