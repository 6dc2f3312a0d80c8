import { createHash } from 'node:crypto';
import { type Clock, rfc3339 } from '../../resources/ambient/clock.ts';
import type { Ids } from '../../resources/ambient/ids.ts';
import { ApiError } from '../../resources/meta/api-error.ts';
import { fromStore } from '../registry/store-failure.ts';
import type { Store } from '../store/store.ts';

/** A token as it is kept: under its hash. */
interface Kept {
  readonly expiresAtMs: number;
  readonly usedAtMs?: number;
}

interface Deps {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
}

const TOKENS = 'join/tokens/';
const TOKEN = /^coppice-join\.[0-9a-f]{64}$/;
const SECRET_BYTES = 32;
/** How long it is remembered that a token was used, so that whoever shows it again is told. */
const REMEMBERED_MS = 24 * 3600_000;
const PAGE = 100;

/** Whether a bearer token looks like one of these. */
export const isJoinToken = (token: string): boolean => TOKEN.test(token);

/** How a token is kept. */
export const joinTokenHash = (token: string): string => createHash('sha256').update(token).digest('hex');

/** Tokens by which new API servers get the keys of the fleet. The store has their hashes only; each is good once, and not for long. */
export class JoinTokens {
  readonly #deps: Deps;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  async mint(lifeMs: number, signal: AbortSignal): Promise<{ readonly token: string; readonly expiresAtMs: number }> {
    const { store, clock, ids } = this.#deps;
    await this.#sweep(signal);
    const token = `coppice-join.${ids.secret(SECRET_BYTES)}`;
    const kept: Kept = { expiresAtMs: clock.now() + lifeMs };
    const key = TOKENS + joinTokenHash(token);
    const puts = [{ key, value: encode(kept) }];
    await fromStore(store.txn({ compares: [{ key, revision: 0 }], puts, deletes: [] }).done);
    return { token, expiresAtMs: kept.expiresAtMs };
  }

  /** Uses a token up, by its hash. Throws `Forbidden`, which says why it is not good. */
  async use(hash: string, signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#deps;
    for (;;) {
      const key = TOKENS + hash;
      const there = await fromStore(store.get(key, signal));
      if (there === undefined) throw refusal('it is not known here');
      const kept = decode(there.value);
      if (kept.usedAtMs !== undefined) throw refusal(`it was used at ${rfc3339(kept.usedAtMs)}`);
      if (kept.expiresAtMs <= clock.now()) throw refusal(`it ended at ${rfc3339(kept.expiresAtMs)}`);
      const puts = [{ key, value: encode({ ...kept, usedAtMs: clock.now() }) }];
      const compares = [{ key, revision: there.modRevision }];
      if ((await fromStore(store.txn({ compares, puts, deletes: [] }).done)).ok) return;
    }
  }

  /** Deletes what nobody needs to be told of any more. Other servers may do the same at the same time. */
  async #sweep(signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#deps;
    let after: string | undefined;
    for (;;) {
      const from = after === undefined ? {} : { after };
      const { entries, remaining } = await fromStore(store.range({ prefix: TOKENS, limit: PAGE, ...from }, signal));
      const over = entries.filter(({ value }) => decode(value).expiresAtMs + REMEMBERED_MS <= clock.now());
      if (over.length > 0)
        await fromStore(store.txn({ compares: [], puts: [], deletes: over.map(({ key }) => key) }).done);
      after = entries.at(-1)?.key;
      if (remaining === 0) return;
    }
  }
}

const encode = (kept: Kept): Uint8Array => new TextEncoder().encode(JSON.stringify(kept));
const decode = (value: Uint8Array): Kept => JSON.parse(new TextDecoder().decode(value)) as Kept;

const refusal = (why: string) => new ApiError('Forbidden', `the join token is not good: ${why}`);
