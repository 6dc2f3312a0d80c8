import { createHash } from 'node:crypto';
import { HOSTS } from '../../resources/guards/refs.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import { fromStore } from '../registry/store-failure.ts';
import type { Store } from '../store/store.ts';

/** Of an enrolled host: what it was told to trust with its last certificate. */
interface Told {
  /** Of the Host it was then. */
  readonly uid: string;
  /** The hash of the certificates of the authorities. */
  readonly authorities: string;
}

const PREFIX = 'pki/hosts/';
const PAGE = 500;

/** Which authorities the hosts were told to trust that are enrolled. The store has it, as any server may have told them. */
export class HostAuthorities {
  readonly #store: Store;
  readonly #cache: WatchCache;

  constructor(store: Store, cache: WatchCache) {
    this.#store = store;
    this.#cache = cache;
  }

  /** Notes what a host is told. The last one to be told something counts. */
  async note(host: { readonly name: string; readonly uid: string }, caCert: string): Promise<void> {
    const told: Told = { uid: host.uid, authorities: authoritiesHash(caCert) };
    const puts = [{ key: PREFIX + host.name, value: new TextEncoder().encode(JSON.stringify(told)) }];
    await fromStore(this.#store.txn({ compares: [], puts, deletes: [] }).done);
  }

  /** The names of hosts that were not told of these authorities yet, in this order. Hosts that are gone do not count. */
  async behind(caCert: string, signal: AbortSignal): Promise<readonly string[]> {
    const wanted = authoritiesHash(caCert);
    const names: string[] = [];
    let after: string | undefined;
    for (;;) {
      const page = { prefix: PREFIX, limit: PAGE, ...(after === undefined ? {} : { after }) };
      const { entries, remaining } = await fromStore(this.#store.range(page, signal));
      for (const { key, value } of entries) {
        const name = key.slice(PREFIX.length);
        const told = JSON.parse(new TextDecoder().decode(value)) as Told;
        const isThere = this.#cache.world.get(HOSTS, undefined, name)?.metadata.uid === told.uid;
        if (isThere && told.authorities !== wanted) names.push(name);
      }
      after = entries.at(-1)?.key;
      if (remaining === 0) return names;
    }
  }
}

/** What the certificates of authorities are known by together, as PEM one after the other. */
export function authoritiesHash(caCert: string): string {
  return createHash('sha256').update(caCert).digest('hex');
}
