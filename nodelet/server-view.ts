import type { ApiClient } from '../apiserver/client/client.ts';
import { Cache, type CacheView } from '../controllers/runtime/cache.ts';
import { Reflector } from '../controllers/runtime/reflector.ts';
import type { Clock } from '../resources/ambient/clock.ts';
import { Host } from '../resources/kinds/host.ts';
import { Image } from '../resources/kinds/image.ts';
import { VM } from '../resources/kinds/vm.ts';
import { Volume } from '../resources/kinds/volume.ts';
import type { ResourceRef } from '../resources/meta/define-kind.ts';
import type { KubeObject } from '../resources/meta/object.ts';

export interface ServerViewOptions {
  readonly name: string;
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: () => number;
  /** The Images, where many hosts of one process share a watch of them; kept up by whoever hands it in. */
  readonly images?: CacheView<Image>;
  /** Has whoever keeps them up list them anew. */
  readonly relistImages?: () => void;
}

/** What one host needs to see of the server: the VMs bound to it, the Volumes that lie on it, its own Host, and the Images. */
export class ServerView {
  readonly vms: CacheView<VM>;
  readonly volumes: CacheView<Volume>;
  readonly hosts: CacheView<Host>;
  readonly images: CacheView<Image>;
  readonly #options: ServerViewOptions;
  readonly #reflectors: Pick<Reflector<KubeObject>, 'run' | 'relist'>[] = [];

  constructor(options: ServerViewOptions) {
    this.#options = options;
    this.vms = this.#follow<VM>(VM, `spec.hostName=${options.name}`);
    this.volumes = this.#follow<Volume>(Volume, `spec.hostName=${options.name}`);
    this.hosts = this.#follow<Host>(Host, `metadata.name=${options.name}`);
    this.images = options.images ?? this.#follow<Image>(Image);
  }

  /** Keeps the caches up until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#reflectors.map((reflector) => reflector.run(signal)));
  }

  /** Lists all of it anew: see `Reflector`. */
  relist(): void {
    for (const reflector of this.#reflectors) reflector.relist();
    this.#options.relistImages?.();
  }

  /** Resolves when each has shown a whole list. */
  async whenSynced(signal: AbortSignal): Promise<void> {
    await Promise.all([this.vms, this.volumes, this.hosts, this.images].map((cache) => cache.whenSynced(signal)));
  }

  #follow<T extends KubeObject>(kind: ResourceRef, fieldSelector?: string): CacheView<T> {
    const { client, clock, random } = this.#options;
    const cache = new Cache<T>();
    const reflector = new Reflector<T>({
      resource: client.resource<T>(kind),
      cache,
      clock,
      random,
      // A thousand hosts that are told every second of all that is written elsewhere cost more than all else they do.
      bookmarks: false,
      ...(fieldSelector === undefined ? {} : { select: { fieldSelector } }),
    });
    this.#reflectors.push(reflector);
    return cache;
  }
}
