import type { Ref } from '../../resources/guards/refs.ts';
import { World } from '../../resources/guards/world.ts';
import type { Kind } from '../../resources/meta/define-kind.ts';
import type { KubeObject } from '../../resources/meta/object.ts';
import type { Change } from './cache.ts';
import { follow, type Watch } from './duty.ts';
import type { Caches } from './informers.ts';

/** The revision of what was sent and not answered: it counts until it is, since no revision that a cache shows ends it. */
export const UNANSWERED = Number.MAX_SAFE_INTEGER;

/** The world as caches show it, with its sums. What a duty lays over it stands until the caches show that or something later. */
export class ShownWorld {
  readonly world = new World();
  /** Keep the world up with the caches; must be started before anything is decided. */
  readonly watches: readonly Watch[];

  constructor(informers: Caches, kinds: readonly Kind[]) {
    this.watches = kinds.map((kind) => follow(informers.of(kind), (change) => this.#take(kind, change)));
  }

  #take(kind: Ref<KubeObject>, { key, before, after }: Change<KubeObject>): void {
    const isAnother = before !== undefined && before.metadata.uid !== after?.metadata.uid;
    // A removal has no revision here, and nothing assumed of an object outlives it.
    this.world.set(kind, key, after, after === undefined || isAnother ? UNANSWERED - 1 : revisionOf(after));
  }
}

/** Revisions of one store are whole numbers that grow. */
export function revisionOf(object: KubeObject): number {
  return Number(object.metadata.resourceVersion);
}
