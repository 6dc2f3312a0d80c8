import type { ApiClient } from '../apiserver/client/client.ts';
import type { CacheView } from '../controllers/runtime/cache.ts';
import type { Clock } from '../resources/ambient/clock.ts';
import type { Logger } from '../resources/ambient/log.ts';
import { isVolumeLost, liesOn } from '../resources/guards/volume-facts.ts';
import type { Host } from '../resources/kinds/host.ts';
import type { Volume } from '../resources/kinds/volume.ts';
import { isTrue } from '../resources/meta/condition.ts';
import { objectKey } from '../resources/meta/object.ts';
import { parseBytes } from '../resources/meta/quantity.ts';
import type { Driver } from './drivers/driver.ts';
import { Latest } from './latest.ts';
import type { Outcome } from './reconcile-guest.ts';
import { reconcileVolume } from './reconcile-volume.ts';
import type { StoreGuard } from './store-guard.ts';

interface HostVolumesOptions {
  /** The Volumes that name this host. */
  readonly view: CacheView<Volume>;
  readonly host: () => Host | undefined;
  readonly driver: Driver;
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly store: Pick<StoreGuard, 'check'>;
  /** Has a volume looked at, by its key. */
  readonly enqueue: (key: string) => void;
}

/** The volumes that lie on one host, and their files. Those of a Host that was given up are lost, whatever is called like it now. */
export class HostVolumes {
  readonly #options: HostVolumesOptions;
  readonly #latest: Latest<Volume>;

  constructor(options: HostVolumesOptions) {
    this.#options = options;
    this.#latest = new Latest(options.view);
  }

  /** As new as is known, if it lies on this very Host. */
  get(key: string): Volume | undefined {
    const host = this.#options.host();
    const volume = this.#latest.get(key);
    return host !== undefined && volume !== undefined && liesOn(volume, host) ? volume : undefined;
  }

  list(): readonly Volume[] {
    return this.#keys().flatMap((key) => this.get(key) ?? []);
  }

  /** Whether what is in the file of a volume was given up, by the id of that volume. */
  isGivenUp(id: string): boolean {
    return [...this.#options.view.list()].some((volume) => volume.status?.id === id && isVolumeLost(volume));
  }

  reconcile(key: string, signal: AbortSignal): Promise<Outcome> {
    const { driver, client, clock, log, store } = this.#options;
    const wrote = (volume: Volume) => this.#latest.wrote(volume);
    return reconcileVolume(key, { driver, client, clock, log, store, wrote, volume: (of) => this.get(of) }, signal);
  }

  lookAtAll(): void {
    for (const key of this.#keys()) this.#options.enqueue(key);
  }

  /** Has those looked at whose files are not as was told: nobody hints at that. */
  async resync(signal: AbortSignal): Promise<void> {
    const { driver, view, enqueue } = this.#options;
    const files = new Map((await driver.volumes(signal)).map(({ id, sizeBytes }) => [id, sizeBytes]));
    for (const volume of view.list()) {
      const { metadata, status } = volume;
      const told = isTrue(volume, 'FileReady') ? parseBytes(status?.size ?? '0') : undefined;
      if (files.get(status?.id ?? '') !== told) enqueue(objectKey(metadata));
    }
  }

  #keys(): readonly string[] {
    return [...this.#options.view.list()].map(({ metadata }) => objectKey(metadata));
  }
}
