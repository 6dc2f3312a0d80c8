import type { Clock } from '../../resources/ambient/clock.ts';
import type { Lease } from '../../resources/kinds/lease.ts';
import { objectKey } from '../../resources/meta/object.ts';
import type { CacheView, Change } from '../runtime/cache.ts';
import { follow, type Watch } from '../runtime/duty.ts';

/** A cache that is behind for longer has missed what it was to show, in milliseconds. */
export const REMEMBERED_MS = 60_000;

interface Written {
  /** As it was answered; its version is the write's. */
  readonly lease: Lease;
  readonly deleted: boolean;
  readonly atMs: number;
}

/** What this duty wrote and the cache does not show yet, so that nothing is made or released twice. It is as long as what is under way. */
export class WrittenLeases {
  readonly #leases: CacheView<Lease>;
  readonly #clock: Clock;
  readonly #byKey = new Map<string, Written>();
  /** Forgets what the cache has come to show. */
  readonly watch: Watch;

  constructor(leases: CacheView<Lease>, clock: Clock) {
    this.#leases = leases;
    this.#clock = clock;
    this.watch = follow(leases, (change) => this.#seen(change));
  }

  wrote(lease: Lease): void {
    this.#remember(lease, false);
  }

  /** It is gone, or on its way. */
  deleted(lease: Lease): void {
    this.#remember(lease, true);
  }

  /** The Leases of a namespace as they are by now, of those that the cache shows and those that it is to show. */
  over(cached: readonly Lease[], namespace: string | undefined): readonly Lease[] {
    this.#forgetOld();
    if (this.#byKey.size === 0) return cached;
    const shown = new Map(cached.map((lease) => [objectKey(lease.metadata), lease]));
    for (const [key, { lease, deleted }] of this.#byKey) {
      if (lease.metadata.namespace !== namespace) continue;
      if (deleted) shown.delete(key);
      else shown.set(key, lease);
    }
    return [...shown.values()];
  }

  get size(): number {
    return this.#byKey.size;
  }

  has(key: string): boolean {
    return this.#byKey.has(key);
  }

  #remember(lease: Lease, deleted: boolean): void {
    const key = objectKey(lease.metadata);
    const written = { lease, deleted, atMs: this.#clock.monotonic() };
    const known = this.#byKey.get(key);
    if (known !== undefined && Number(known.lease.metadata.resourceVersion) > Number(lease.metadata.resourceVersion))
      return;
    const shown = this.#leases.get(key);
    // The cache may have heard of it before the answer came.
    if (shown === undefined ? !deleted : !shows(shown, written)) this.#byKey.set(key, written);
    else this.#byKey.delete(key);
  }

  #seen({ key, before, after }: Change<Lease>): void {
    const written = this.#byKey.get(key);
    if (written === undefined) return;
    const gone = after === undefined && before?.metadata.uid === written.lease.metadata.uid;
    if (gone || (after !== undefined && shows(after, written))) this.#byKey.delete(key);
  }

  #forgetOld(): void {
    const oldMs = this.#clock.monotonic() - REMEMBERED_MS;
    for (const [key, { atMs }] of this.#byKey) if (atMs < oldMs) this.#byKey.delete(key);
  }
}

/** Whether what the cache has is no older than what was written. */
function shows({ metadata }: Lease, { lease, deleted }: Written): boolean {
  if (deleted && metadata.uid === lease.metadata.uid) return metadata.deletionTimestamp !== undefined;
  return Number(metadata.resourceVersion) >= Number(lease.metadata.resourceVersion);
}
