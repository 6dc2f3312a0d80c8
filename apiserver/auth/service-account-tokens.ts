import { createHash, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { type Clock, rfc3339 } from '../../resources/ambient/clock.ts';
import type { Ids } from '../../resources/ambient/ids.ts';
import { SECRETS, SERVICE_ACCOUNTS } from '../../resources/guards/refs.ts';
import { isObject, type JsonObject, type KubeObject } from '../../resources/meta/object.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import { type Identity, serviceAccountIdentity } from './identity.ts';
import { keyThumbprint } from './key-thumbprint.ts';
import type { TokenExpiries } from './token-expiries.ts';
import { TokenRefused } from './token-refused.ts';

/** Who signs, and whom a token is meant for that names nobody else: the name under which clients of Kubernetes know its API. */
export const ISSUER = 'https://kubernetes.default.svc';
const ALGORITHM = 'ES256';
/** Clocks of servers may be a little apart. */
const SKEW_S = 5;
/** An account or Secret that is going is trusted this much longer, as what it runs may need it to end well. */
const LEAVING_MS = 60_000;
const MAX_REMEMBERED = 1_000;
const PEM_BLOCK = /-----BEGIN [^-]+-----[^-]+-----END [^-]+-----/g;

/** What a token is made for. */
interface TokenWish {
  readonly account: KubeObject;
  /** The Secret it dies with. */
  readonly secret: KubeObject | undefined;
  readonly audiences: readonly string[];
  readonly lifeSeconds: number;
}

/** Whose a token is, and whom it is meant for. */
export interface TokenOwner {
  readonly identity: Identity;
  readonly audiences: readonly string[];
}

/** What a good signature vouches for. */
interface Claims {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly secret: { readonly name: string; readonly uid: string } | undefined;
  readonly audiences: readonly string[];
  readonly id: string | undefined;
  readonly expiresAtMs: number;
}

/** Mints the tokens of ServiceAccounts and knows them again. A token is good until it ends, and as long as its account is there. */
export class ServiceAccountTokens {
  readonly #clock: Clock;
  readonly #ids: Ids;
  readonly #cache: WatchCache;
  readonly #expiries: TokenExpiries;
  readonly #reread: () => void;
  #signing: SigningKey;
  /** All that are trusted, by id; the one that signs is the first. */
  #keys: ReadonlyMap<string, KeyObject>;
  /** By the hash of the token; the eldest goes first. */
  readonly #remembered = new Map<string, Claims>();

  /**
   * `key` holds EC P-256 private keys, as PEM: the first signs, all are trusted. Throws when one is none. `reread` is called before a token is refused because
   * its key is not known; it may call `replaceKeys`.
   */
  constructor(options: {
    readonly key: string;
    readonly clock: Clock;
    readonly ids: Ids;
    readonly cache: WatchCache;
    readonly expiries: TokenExpiries;
    readonly reread?: () => void;
  }) {
    [this.#signing, this.#keys] = keysIn(options.key);
    this.#clock = options.clock;
    this.#ids = options.ids;
    this.#cache = options.cache;
    this.#expiries = options.expiries;
    this.#reread = options.reread ?? (() => {});
  }

  /** Signs with the first of these from now on, and trusts them only. */
  replaceKeys(key: string): void {
    [this.#signing, this.#keys] = keysIn(key);
    this.#remembered.clear();
  }

  async mint({ account, secret, audiences, lifeSeconds }: TokenWish): Promise<{ token: string; expires: string }> {
    const { SignJWT } = await import('jose');
    const { namespace = '', name, uid } = account.metadata;
    const now = Math.floor(this.#clock.now() / 1000);
    const signing = this.#signing;
    await this.#expiries.note(signing.id, (now + lifeSeconds) * 1000);
    const bound = secret === undefined ? {} : { secret: { name: secret.metadata.name, uid: secret.metadata.uid } };
    const token = await new SignJWT({ 'kubernetes.io': { namespace, ...bound, serviceaccount: { name, uid } } })
      .setProtectedHeader({ alg: ALGORITHM, kid: signing.id })
      .setIssuer(ISSUER)
      .setSubject(serviceAccountIdentity(namespace, name).user)
      .setAudience([...audiences])
      .setIssuedAt(now)
      .setNotBefore(now)
      .setExpirationTime(now + lifeSeconds)
      .setJti(this.#ids.uid())
      .sign(signing.key);
    return { token, expires: rfc3339((now + lifeSeconds) * 1000) };
  }

  /** Whose a token is that is meant for one of `audiences`. Throws `TokenRefused`, which says why it is not good. */
  async identify(token: string, audiences: readonly string[], signal: AbortSignal): Promise<TokenOwner> {
    const claims = await this.#claimsOf(token);
    const meant = audiences.filter((audience) => claims.audiences.includes(audience));
    if (meant.length === 0) throw new TokenRefused('the token is meant for somebody else');
    if (!this.#lives(claims)) {
      // An account made on another server a moment ago may not have been heard of here.
      await this.#cache.caughtUp(signal);
      if (!this.#lives(claims)) throw new TokenRefused('what the token belongs to is gone');
    }
    const { namespace, name, uid, id } = claims;
    const extra = id === undefined ? {} : { extra: { 'authentication.kubernetes.io/credential-id': [`JTI=${id}`] } };
    return { identity: { ...serviceAccountIdentity(namespace, name), uid, ...extra }, audiences: meant };
  }

  /** The public keys, as clients of OpenID Connect read them (RFC 7517). */
  keySet(): { readonly keys: readonly JsonObject[] } {
    const keys = [...this.#keys].map(([kid, key]) => {
      const { kty, crv, x, y } = key.export({ format: 'jwk' });
      return { use: 'sig', kty, kid, crv, alg: ALGORITHM, x, y };
    });
    return { keys };
  }

  async #claimsOf(token: string): Promise<Claims> {
    const hash = createHash('sha256').update(token).digest('base64');
    const remembered = this.#remembered.get(hash);
    if (remembered !== undefined) {
      if (this.#clock.now() < remembered.expiresAtMs) return remembered;
      this.#remembered.delete(hash);
    }
    const claims = await this.#verified(token);
    const [eldest] = this.#remembered.keys();
    if (eldest !== undefined && this.#remembered.size >= MAX_REMEMBERED) this.#remembered.delete(eldest);
    this.#remembered.set(hash, claims);
    return claims;
  }

  async #verified(token: string): Promise<Claims> {
    const { errors, jwtVerify } = await import('jose');
    try {
      const { payload } = await jwtVerify(token, (header) => this.#keyOf(header.kid), {
        algorithms: [ALGORITHM],
        issuer: ISSUER,
        currentDate: new Date(this.#clock.now()),
        clockTolerance: SKEW_S,
        requiredClaims: ['exp', 'nbf', 'iat', 'sub', 'aud'],
      });
      return claimsIn(payload);
    } catch (error) {
      if (!(error instanceof errors.JOSEError)) throw error;
      throw new TokenRefused(error.message, { cause: error });
    }
  }

  #keyOf(id = ''): KeyObject {
    if (!this.#keys.has(id)) this.#reread();
    const key = this.#keys.get(id);
    if (key === undefined) throw new TokenRefused('the token is signed with a key that is not trusted');
    return key;
  }

  /** Whether the account, and the Secret if it is bound to one, are still those of then. */
  #lives({ namespace, name, uid, secret }: Claims): boolean {
    const there = (object: KubeObject | undefined, expected: string) => {
      if (object?.metadata.uid !== expected) return false;
      const { deletionTimestamp } = object.metadata;
      return deletionTimestamp === undefined || Date.parse(deletionTimestamp) + LEAVING_MS > this.#clock.now();
    };
    const { world } = this.#cache;
    if (!there(world.get(SERVICE_ACCOUNTS, namespace, name), uid)) return false;
    return secret === undefined || there(world.get(SECRETS, namespace, secret.name), secret.uid);
  }
}

interface SigningKey {
  readonly id: string;
  readonly key: KeyObject;
}

function keysIn(pem: string): readonly [SigningKey, ReadonlyMap<string, KeyObject>] {
  const keys = (pem.match(PEM_BLOCK) ?? [pem]).map((block) => createPrivateKey(block));
  const [key] = keys;
  if (key === undefined || keys.some((each) => each.asymmetricKeyDetails?.namedCurve !== 'prime256v1'))
    throw new Error('the key of service account tokens is not an EC key on the curve P-256');
  const published = keys.map((each) => createPublicKey(each)).map((each) => [keyThumbprint(each), each] as const);
  return [{ id: published[0]?.[0] ?? '', key }, new Map(published)];
}

/** Reads what we signed. A signature of ours over anything else is no token. */
function claimsIn(payload: JsonObject): Claims {
  const own = payload['kubernetes.io'];
  const account = isObject(own) ? own.serviceaccount : undefined;
  if (!isObject(own) || !isObject(account)) throw new TokenRefused('the token is of no service account');
  const [namespace, name, uid] = [own.namespace, account.name, account.uid];
  if (typeof namespace !== 'string' || typeof name !== 'string' || typeof uid !== 'string') {
    throw new TokenRefused('the token is of no service account');
  }
  if (payload.sub !== serviceAccountIdentity(namespace, name).user) {
    throw new TokenRefused('the subject of the token is not its service account');
  }
  return {
    namespace,
    name,
    uid,
    secret: own.secret === undefined ? undefined : boundIn(own.secret),
    audiences: [payload.aud].flat().filter((audience) => typeof audience === 'string'),
    id: typeof payload.jti === 'string' ? payload.jti : undefined,
    expiresAtMs: Number(payload.exp) * 1000,
  };
}

function boundIn(secret: unknown): { readonly name: string; readonly uid: string } {
  if (isObject(secret) && typeof secret.name === 'string' && typeof secret.uid === 'string') {
    return { name: secret.name, uid: secret.uid };
  }
  throw new TokenRefused('the token is bound to what is no Secret');
}
