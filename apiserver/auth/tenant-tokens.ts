import { timingSafeEqual } from 'node:crypto';
import type { Ids } from '../../resources/ambient/ids.ts';
import { TENANTS } from '../../resources/guards/refs.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import { andThen, type Eventual } from '../eventual.ts';
import { fromStore } from '../registry/store-failure.ts';
import type { Store } from '../store/store.ts';
import { tokenHash } from './bearer-tokens.ts';
import { type Identity, ownerIdentity } from './identity.ts';
import { TENANT_TOKENS } from './token-prefixes.ts';
import { TokenRefused } from './token-refused.ts';

/** A token as the store has it, under the name of its tenant. */
interface Kept {
  /** SHA-256, as hex. */
  readonly hash: string;
  /** Of the Tenant it was made for: one of that name made later is another. */
  readonly uid: string;
}

interface Remembered extends Kept {
  readonly revision: number;
}

interface Deps {
  readonly store: Store;
  readonly cache: WatchCache;
  readonly ids: Ids;
}

/** The name of the tenant, and the secret. */
const TOKEN = /^coppice-tenant\.([a-z0-9-]{1,63})\.[0-9a-f]{64}$/;
const SECRET_BYTES = 32;
const PAGE = 100;

const keyOf = (tenant: string): string => TENANT_TOKENS + tenant;

/**
 * The tokens of tenants' owners: one a tenant, good until another is made or the tenant is deleted. The store has their hashes only; that one moved there
 * is seen like any other write, so nothing is asked of the store while none does.
 */
export class TenantTokens {
  readonly #deps: Deps;
  /** By tenant: no more than there are tokens in the store. */
  readonly #remembered = new Map<string, Remembered>();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** A new token for a tenant. The one before is refused here by the time this resolves, and on other servers as soon as they hear of it. */
  async mint(tenant: { readonly name: string; readonly uid: string }, signal: AbortSignal): Promise<string> {
    const { store, cache, ids } = this.#deps;
    await this.#sweep(signal);
    const token = `coppice-tenant.${tenant.name}.${ids.secret(SECRET_BYTES)}`;
    const kept: Kept = { hash: tokenHash(token), uid: tenant.uid };
    const puts = [{ key: keyOf(tenant.name), value: encode(kept) }];
    const written = await fromStore(store.txn({ compares: [], puts, deletes: [] }).done);
    if (written.ok) await cache.waitFor(written.revision, signal);
    return token;
  }

  /** Whether a bearer token looks like one of these. */
  knows(token: string): boolean {
    return TOKEN.test(token);
  }

  /** Who shows a token that is good. Throws `TokenRefused`. */
  identify(token: string, signal: AbortSignal): Eventual<Identity> {
    const name = TOKEN.exec(token)?.[1] ?? '';
    const hash = Buffer.from(tokenHash(token), 'hex');
    return andThen(
      this.#kept(name, signal),
      (kept) => this.#ownerBy(name, hash, kept) ?? this.#lookAgain(name, hash, signal),
    );
  }

  #ownerBy(name: string, hash: Buffer, kept: Kept | undefined): Identity | undefined {
    if (kept === undefined || !timingSafeEqual(hash, Buffer.from(kept.hash, 'hex'))) return undefined;
    const metadata = this.#deps.cache.world.get(TENANTS, undefined, name)?.metadata;
    if (metadata?.uid !== kept.uid || metadata.deletionTimestamp !== undefined) return undefined;
    return ownerIdentity(name, kept.uid);
  }

  /** Of what was made on another server a moment ago nothing may have been heard here. */
  async #lookAgain(name: string, hash: Buffer, signal: AbortSignal): Promise<Identity> {
    await this.#deps.cache.caughtUp(signal);
    const owner = this.#ownerBy(name, hash, await this.#kept(name, signal));
    if (owner === undefined) throw new TokenRefused('the token is unknown, or another was made since');
    return owner;
  }

  #kept(name: string, signal: AbortSignal): Eventual<Kept | undefined> {
    const revision = this.#deps.cache.fence(keyOf(name));
    const remembered = this.#remembered.get(name);
    if (revision > 0 && remembered !== undefined && remembered.revision >= revision) return remembered;
    this.#remembered.delete(name);
    return revision === 0 ? undefined : this.#read(name, signal);
  }

  async #read(name: string, signal: AbortSignal): Promise<Kept | undefined> {
    const entry = await fromStore(this.#deps.store.get(keyOf(name), signal));
    if (entry === undefined) return undefined;
    const kept = decode(entry.value);
    this.#remembered.set(name, { ...kept, revision: entry.modRevision });
    return kept;
  }

  /** Deletes those of tenants that are gone. One written since this began may be of a tenant that is not heard of yet. */
  async #sweep(signal: AbortSignal): Promise<void> {
    const { store, cache } = this.#deps;
    await cache.caughtUp(signal);
    const { revision } = cache;
    let after: string | undefined;
    for (;;) {
      const from = after === undefined ? {} : { after };
      const { entries, remaining } = await fromStore(
        store.range({ prefix: TENANT_TOKENS, limit: PAGE, ...from }, signal),
      );
      const over = entries.filter(({ key, value, modRevision }) => {
        const there = cache.world.get(TENANTS, undefined, key.slice(TENANT_TOKENS.length));
        return modRevision <= revision && there?.metadata.uid !== decode(value).uid;
      });
      for (const { key, modRevision } of over)
        await fromStore(store.txn({ compares: [{ key, revision: modRevision }], puts: [], deletes: [key] }).done);
      after = entries.at(-1)?.key;
      if (remaining === 0) return;
    }
  }
}

const encode = (kept: Kept): Uint8Array => new TextEncoder().encode(JSON.stringify(kept));
const decode = (value: Uint8Array): Kept => JSON.parse(new TextDecoder().decode(value)) as Kept;
