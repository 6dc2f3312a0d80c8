import { createHash, timingSafeEqual } from 'node:crypto';
import { OPERATOR } from './identity.ts';
import { ISSUER, type ServiceAccountTokens, type TokenOwner } from './service-account-tokens.ts';
import { TokenRefused } from './token-refused.ts';

/** Finds whose a bearer token is that is meant for one of `audiences`. Throws `TokenRefused`. */
export type BearerTokens = (token: string, audiences: readonly string[], signal: AbortSignal) => Promise<TokenOwner>;

/** `operatorTokenHash` is the SHA-256 of the operator's bearer token, as hex. The operator's is for this server only. */
export function createBearerTokens(options: {
  readonly operatorTokenHash: string;
  readonly serviceAccounts: ServiceAccountTokens;
}): BearerTokens {
  const expected = Buffer.from(options.operatorTokenHash, 'hex');
  return async (token, audiences, signal) => {
    const hash = sha256(token);
    if (hash.length === expected.length && timingSafeEqual(hash, expected)) {
      if (audiences.includes(ISSUER)) return { identity: OPERATOR, audiences: [ISSUER] };
      throw new TokenRefused('the token is meant for somebody else');
    }
    return options.serviceAccounts.identify(token, audiences, signal);
  };
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** The hash a token is kept as. */
export function tokenHash(token: string): string {
  return sha256(token).toString('hex');
}
