import { createHash } from 'node:crypto';
import type { Clock } from '../../resources/ambient/clock.ts';
import type { Ids } from '../../resources/ambient/ids.ts';
import { ApiError } from '../../resources/meta/api-error.ts';
import { enrollerIdentity, type Identity } from '../auth/identity.ts';
import { TokenRefused } from '../auth/token-refused.ts';
import { fromStore } from '../registry/store-failure.ts';
import type { Entry, Store } from '../store/store.ts';

/** A token as it is kept: under its hash. */
interface Kept {
  readonly host: string;
  /** Of the Host the token was made for. */
  readonly uid: string;
  readonly expiresAtMs: number;
  /** The hash of the key it was used for. */
  readonly usedFor?: string;
}

interface Deps {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
}

const TOKENS = 'enrollment/tokens/';
/** The host's name, the hashes of the authorities it is to trust, and the secret. */
const TOKEN = /^[a-z0-9-]{1,63}\.[0-9a-f]{64}(\+[0-9a-f]{64})*\.[0-9a-f]{64}$/;
const SECRET_BYTES = 32;
/** How often tokens that are over are looked for. */
const SWEEP_MS = 10 * 60_000;
const PAGE = 100;

const sha256 = (content: string | Uint8Array): string => createHash('sha256').update(content).digest('hex');

/**
 * Enrollment tokens of hosts. The store has only their hashes. A token serves one key: whoever used it may ask again with the same key while it is good,
 * because the first answer may have been lost, and nobody else may.
 */
export class EnrollmentTokens {
  readonly #deps: Deps;
  #sweptAtMs = Number.NEGATIVE_INFINITY;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** A new token for a Host. `authorities` are the certificates its nodelet is to trust, in DER. */
  async mint(
    host: { readonly name: string; readonly uid: string },
    authorities: readonly Uint8Array[],
    lifeMs: number,
    signal: AbortSignal,
  ): Promise<{ readonly token: string; readonly expiresAtMs: number }> {
    const { store, clock, ids } = this.#deps;
    await this.#sweep(signal);
    const token = `${host.name}.${authorities.map(sha256).join('+')}.${ids.secret(SECRET_BYTES)}`;
    const kept: Kept = { host: host.name, uid: host.uid, expiresAtMs: clock.now() + lifeMs };
    const key = TOKENS + sha256(token);
    await fromStore(
      store.txn({ compares: [{ key, revision: 0 }], puts: [{ key, value: encode(kept) }], deletes: [] }).done,
    );
    return { token, expiresAtMs: kept.expiresAtMs };
  }

  /** Whether a bearer token looks like one of these. */
  knows(token: string): boolean {
    return TOKEN.test(token);
  }

  /** Who shows a token that is good. Throws `TokenRefused`. */
  async identify(token: string, signal: AbortSignal): Promise<Identity> {
    const hash = sha256(token);
    const { kept } = await this.#find(hash, signal);
    return enrollerIdentity(kept.host, kept.uid, hash);
  }

  /** Uses a token, by its hash, for a public key. Throws `Unauthorized` when it is over, or was used for another. */
  async use(hash: string, publicKey: Uint8Array, signal: AbortSignal): Promise<void> {
    const usedFor = sha256(publicKey);
    for (;;) {
      const { kept, entry } = await this.#find(hash, signal).catch((error: unknown) => {
        throw error instanceof TokenRefused ? refusal(error.message) : error;
      });
      if (kept.usedFor === usedFor) return;
      if (kept.usedFor !== undefined) throw refusal('the token was used already');
      const { key, modRevision } = entry;
      const value = encode({ ...kept, usedFor });
      const compares = [{ key, revision: modRevision }];
      const result = await fromStore(this.#deps.store.txn({ compares, puts: [{ key, value }], deletes: [] }).done);
      if (result.ok) return;
    }
  }

  async #find(hash: string, signal: AbortSignal): Promise<{ readonly kept: Kept; readonly entry: Entry }> {
    const entry = await fromStore(this.#deps.store.get(TOKENS + hash, signal));
    const kept = entry && decode(entry.value);
    if (kept === undefined || entry === undefined || kept.expiresAtMs <= this.#deps.clock.now())
      throw new TokenRefused('the token is unknown, or its time is over');
    return { kept, entry };
  }

  /** Deletes what is over. Other servers may do the same at the same time. */
  async #sweep(signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#deps;
    if (clock.monotonic() - this.#sweptAtMs < SWEEP_MS) return;
    this.#sweptAtMs = clock.monotonic();
    let after: string | undefined;
    for (;;) {
      const from = after === undefined ? {} : { after };
      const { entries, remaining } = await fromStore(store.range({ prefix: TOKENS, limit: PAGE, ...from }, signal));
      const over = entries.filter(({ value }) => decode(value).expiresAtMs <= clock.now()).map(({ key }) => key);
      if (over.length > 0) await fromStore(store.txn({ compares: [], puts: [], deletes: over }).done);
      after = entries.at(-1)?.key;
      if (remaining === 0) return;
    }
  }
}

const encode = (kept: Kept): Uint8Array => new TextEncoder().encode(JSON.stringify(kept));
const decode = (value: Uint8Array): Kept => JSON.parse(new TextDecoder().decode(value)) as Kept;

const refusal = (message: string) => new ApiError('Unauthorized', message);
