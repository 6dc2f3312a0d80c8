import { type Clock, rfc3339 } from '../../resources/ambient/clock.ts';
import type { Ids } from '../../resources/ambient/ids.ts';
import { ApiError } from '../../resources/meta/api-error.ts';
import { KeptTokens } from '../auth/kept-tokens.ts';
import { JOIN_TOKENS } from '../auth/token-prefixes.ts';
import type { Store } from '../store/store.ts';

interface Kept {
  readonly expiresAtMs: number;
  readonly usedAtMs?: number;
}

interface Deps {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
}

const TOKEN = /^coppice-join\.[0-9a-f]{64}$/;
const SECRET_BYTES = 32;
/** How long it is remembered that a token was used, so that whoever shows it again is told. */
const REMEMBERED_MS = 24 * 3600_000;

/** Whether a bearer token looks like one of these. */
export const isJoinToken = (token: string): boolean => TOKEN.test(token);

/** Tokens by which new API servers get the keys of the fleet; each is good once, and not for long. */
export class JoinTokens {
  readonly #deps: Deps;
  readonly #tokens: KeptTokens<Kept>;

  constructor(deps: Deps) {
    const { store, clock } = deps;
    this.#deps = deps;
    this.#tokens = new KeptTokens({ store, clock, prefix: JOIN_TOKENS, rememberedMs: REMEMBERED_MS });
  }

  async mint(lifeMs: number, signal: AbortSignal): Promise<{ readonly token: string; readonly expiresAtMs: number }> {
    const { clock, ids } = this.#deps;
    const token = `coppice-join.${ids.secret(SECRET_BYTES)}`;
    const expiresAtMs = clock.now() + lifeMs;
    await this.#tokens.add(token, { expiresAtMs }, signal);
    return { token, expiresAtMs };
  }

  /** Uses a token up, by its hash. Throws `Forbidden`, which says why it is not good. */
  async use(hash: string, signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    for (;;) {
      const found = await this.#tokens.find(hash, signal);
      if (found === undefined) throw refusal('it is not known here');
      const { kept } = found;
      if (kept.usedAtMs !== undefined) throw refusal(`it was used at ${rfc3339(kept.usedAtMs)}`);
      if (kept.expiresAtMs <= clock.now()) throw refusal(`it ended at ${rfc3339(kept.expiresAtMs)}`);
      if (await this.#tokens.change(found, { ...kept, usedAtMs: clock.now() })) return;
    }
  }
}

const refusal = (why: string) => new ApiError('Forbidden', `the join token is not good: ${why}`);
