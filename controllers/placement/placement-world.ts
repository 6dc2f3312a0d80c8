import { VMS } from '../../resources/guards/refs.ts';
import { Host } from '../../resources/kinds/host.ts';
import { Image } from '../../resources/kinds/image.ts';
import { Policy } from '../../resources/kinds/policy.ts';
import { Pool } from '../../resources/kinds/pool.ts';
import { Tenant } from '../../resources/kinds/tenant.ts';
import { VM } from '../../resources/kinds/vm.ts';
import { Volume } from '../../resources/kinds/volume.ts';
import { objectKey } from '../../resources/meta/object.ts';
import type { CacheView } from '../runtime/cache.ts';
import type { Caches } from '../runtime/informers.ts';
import { revisionOf, ShownWorld, UNANSWERED } from '../runtime/shown-world.ts';

/** The world as the caches show it, with this duty's own bindings laid over it until the caches show them too. */
export class PlacementWorld extends ShownWorld {
  readonly #vms: CacheView<VM>;

  constructor(informers: Caches) {
    super(informers, [Policy, Host, Tenant, Image, Pool, Volume, VM]);
    this.#vms = informers.of(VM);
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
}
