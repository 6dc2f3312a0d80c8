import { createHash } from 'node:crypto';
import type { Clock } from '../../resources/ambient/clock.ts';
import type { Ids } from '../../resources/ambient/ids.ts';
import { ApiError } from '../../resources/meta/api-error.ts';
import { tokenHash } from '../auth/bearer-tokens.ts';
import { enrollerIdentity, type Identity } from '../auth/identity.ts';
import { type Found, KeptTokens } from '../auth/kept-tokens.ts';
import { ENROLLMENT_TOKENS } from '../auth/token-prefixes.ts';
import { TokenRefused } from '../auth/token-refused.ts';
import type { Store } from '../store/store.ts';

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

/** The host's name, the hashes of the authorities it is to trust, and the secret. */
const TOKEN = /^[a-z0-9-]{1,63}\.[0-9a-f]{64}(\+[0-9a-f]{64})*\.[0-9a-f]{64}$/;
const SECRET_BYTES = 32;

const sha256 = (content: Uint8Array): string => createHash('sha256').update(content).digest('hex');

/**
 * Enrollment tokens of hosts. A token serves one key: whoever used it may ask again with the same key while it is good,
 * because the first answer may have been lost, and nobody else may.
 */
export class EnrollmentTokens {
  readonly #deps: Deps;
  readonly #tokens: KeptTokens<Kept>;

  constructor(deps: Deps) {
    const { store, clock } = deps;
    this.#deps = deps;
    this.#tokens = new KeptTokens({ store, clock, prefix: ENROLLMENT_TOKENS });
  }

  /** A new token for a Host. `authorities` are the certificates its nodelet is to trust, in DER. */
  async mint(
    host: { readonly name: string; readonly uid: string },
    authorities: readonly Uint8Array[],
    lifeMs: number,
    signal: AbortSignal,
  ): Promise<{ readonly token: string; readonly expiresAtMs: number }> {
    const { clock, ids } = this.#deps;
    const token = `${host.name}.${authorities.map(sha256).join('+')}.${ids.secret(SECRET_BYTES)}`;
    const expiresAtMs = clock.now() + lifeMs;
    await this.#tokens.add(token, { host: host.name, uid: host.uid, expiresAtMs }, signal);
    return { token, expiresAtMs };
  }

  /** Whether a bearer token looks like one of these. */
  knows(token: string): boolean {
    return TOKEN.test(token);
  }

  /** Who shows a token that is good. Throws `TokenRefused`. */
  async identify(token: string, signal: AbortSignal): Promise<Identity> {
    const hash = tokenHash(token);
    const { kept } = await this.#find(hash, signal);
    return enrollerIdentity(kept.host, kept.uid, hash);
  }

  /** Uses a token, by its hash, for a public key. Throws `Unauthorized` when it is over, or was used for another. */
  async use(hash: string, publicKey: Uint8Array, signal: AbortSignal): Promise<void> {
    const usedFor = sha256(publicKey);
    for (;;) {
      const found = await this.#find(hash, signal).catch((error: unknown) => {
        throw error instanceof TokenRefused ? refusal(error.message) : error;
      });
      const { kept } = found;
      if (kept.usedFor === usedFor) return;
      if (kept.usedFor !== undefined) throw refusal('the token was used already');
      if (await this.#tokens.change(found, { ...kept, usedFor })) return;
    }
  }

  async #find(hash: string, signal: AbortSignal): Promise<Found<Kept>> {
    const found = await this.#tokens.find(hash, signal);
    if (found === undefined || found.kept.expiresAtMs <= this.#deps.clock.now())
      throw new TokenRefused('the token is unknown, or its time is over');
    return found;
  }
}

const refusal = (message: string) => new ApiError('Unauthorized', message);
