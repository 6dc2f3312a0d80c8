import type { Clock } from '../../resources/ambient/clock.ts';
import { fromStore } from '../registry/store-failure.ts';
import type { Entry, Store } from '../store/store.ts';
import { tokenHash } from './bearer-tokens.ts';

interface KeptTokensOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** What their keys in the store begin with. */
  readonly prefix: string;
  /** How long a token stays known after its end, so that whoever shows it is told; not at all by default. */
  readonly rememberedMs?: number;
}

/** A token as the store has it. */
export interface Found<T> {
  readonly kept: T;
  readonly entry: Entry;
}

/** How often tokens that are over are looked for. */
const SWEEP_MS = 10 * 60_000;
const PAGE = 100;

/** Tokens of one kind. The store has their hashes only, and under each what is to be known of it. */
export class KeptTokens<T extends { readonly expiresAtMs: number }> {
  readonly #options: KeptTokensOptions;
  #sweptAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: KeptTokensOptions) {
    this.#options = options;
  }

  /** Keeps a new one. */
  async add(token: string, kept: T, signal: AbortSignal): Promise<void> {
    await this.#sweep(signal);
    const key = this.#options.prefix + tokenHash(token);
    const puts = [{ key, value: encode(kept) }];
    await fromStore(this.#options.store.txn({ compares: [{ key, revision: 0 }], puts, deletes: [] }).done);
  }

  /** By its hash, also when it is over; undefined when it is not known. */
  async find(hash: string, signal: AbortSignal): Promise<Found<T> | undefined> {
    const entry = await fromStore(this.#options.store.get(this.#options.prefix + hash, signal));
    return entry && { kept: decode<T>(entry.value), entry };
  }

  /** Notes something of one that was found; false when somebody else did so meanwhile. */
  async change({ entry: { key, modRevision } }: Found<T>, kept: T): Promise<boolean> {
    const compares = [{ key, revision: modRevision }];
    const puts = [{ key, value: encode(kept) }];
    return (await fromStore(this.#options.store.txn({ compares, puts, deletes: [] }).done)).ok;
  }

  /** Deletes what is over. Other servers may do the same at the same time. */
  async #sweep(signal: AbortSignal): Promise<void> {
    const { store, clock, prefix, rememberedMs = 0 } = this.#options;
    if (clock.monotonic() - this.#sweptAtMs < SWEEP_MS) return;
    this.#sweptAtMs = clock.monotonic();
    let after: string | undefined;
    for (;;) {
      const from = after === undefined ? {} : { after };
      const { entries, remaining } = await fromStore(store.range({ prefix, limit: PAGE, ...from }, signal));
      const isOver = ({ value }: Entry) => decode<T>(value).expiresAtMs + rememberedMs <= clock.now();
      const over = entries.filter(isOver).map(({ key }) => key);
      if (over.length > 0) await fromStore(store.txn({ compares: [], puts: [], deletes: over }).done);
      after = entries.at(-1)?.key;
      if (remaining === 0) return;
    }
  }
}

const encode = (kept: object): Uint8Array => new TextEncoder().encode(JSON.stringify(kept));
const decode = <T>(value: Uint8Array): T => JSON.parse(new TextDecoder().decode(value)) as T;
