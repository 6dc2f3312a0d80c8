import { ApiClient } from '../../../apiserver/client/client.ts';
import type { Transport } from '../../../apiserver/client/transport.ts';
import { Cache, type CacheView } from '../../../controllers/runtime/cache.ts';
import { Reflector } from '../../../controllers/runtime/reflector.ts';
import type { Clock } from '../../../resources/ambient/clock.ts';
import { Image } from '../../../resources/kinds/image.ts';

/** What servers say to a host that they do not take for one any longer. */
const NOT_TAKEN: ReadonlySet<number> = new Set([401, 403]);

/** The Images for all hosts of a process, who see the same of them: one watch in the place of a thousand. */
export class SharedImages {
  readonly #cache = new Cache<Image>();
  readonly #reflector: Reflector<Image>;

  /** Asks as one of the hosts, at least one, and as the next where servers do not take that one any longer. */
  constructor(
    hosts: readonly Transport[],
    { clock, random }: { readonly clock: Clock; readonly random: () => number },
  ) {
    const resource = new ApiClient(asAnyOf(hosts)).resource<Image>(Image);
    this.#reflector = new Reflector({ resource, cache: this.#cache, bookmarks: false, clock, random });
  }

  get cache(): CacheView<Image> {
    return this.#cache;
  }

  relist(): void {
    this.#reflector.relist();
  }

  /** Keeps the cache up until the signal aborts. */
  run(signal: AbortSignal): Promise<void> {
    return this.#reflector.run(signal);
  }
}

function asAnyOf(transports: readonly Transport[]): Transport {
  let at = 0;
  return async (request) => {
    for (let left = transports.length; ; left--) {
      const transport = transports[at];
      if (transport === undefined) throw new TypeError('there is no host to ask as');
      const response = await transport(request);
      if (!NOT_TAKEN.has(response.status) || left <= 1) return response;
      for await (const _ of response.body);
      at = (at + 1) % transports.length;
    }
  };
}
