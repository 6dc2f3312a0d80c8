import { fromStore } from '../registry/store-failure.ts';
import type { Store } from '../store/store.ts';

const PREFIX = 'pki/tokens/';
/** Rounded up to this, so that a write is needed once in a while and not with every token. */
const STEP_MS = 3_600_000;

/** When the last token ends that was signed with a key: kept in the store, and written before the token is given away. */
export class TokenExpiries {
  readonly #store: Store;
  readonly #known = new Map<string, number>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** Resolves once the store knows that a token of this key lives until then. */
  async note(keyId: string, expiresMs: number): Promise<void> {
    const endsMs = Math.ceil(expiresMs / STEP_MS) * STEP_MS;
    while ((this.#known.get(keyId) ?? 0) < endsMs) {
      const key = PREFIX + keyId;
      const there = await fromStore(this.#store.get(key));
      this.#known.set(keyId, there === undefined ? 0 : numberIn(there.value));
      if ((this.#known.get(keyId) ?? 0) >= endsMs) return;
      const compares = [{ key, revision: there?.modRevision ?? 0 }];
      const puts = [{ key, value: Buffer.from(String(endsMs)) }];
      // Lost to another server: what that one wrote may be enough.
      await fromStore(this.#store.txn({ compares, puts, deletes: [] }).done);
    }
  }

  /** When the last token of a key ends, in milliseconds, to the hour; 0 when there never was one. */
  async last(keyId: string, signal?: AbortSignal): Promise<number> {
    const there = await fromStore(this.#store.get(PREFIX + keyId, signal));
    return there === undefined ? 0 : numberIn(there.value);
  }
}

const numberIn = (value: Uint8Array): number => Number(new TextDecoder().decode(value)) || 0;
