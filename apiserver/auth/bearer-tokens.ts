import { createHash } from 'node:crypto';
import { OPERATOR } from './identity.ts';
import type { OperatorTokens } from './operator-tokens.ts';
import { ISSUER, type ServiceAccountTokens, type TokenOwner } from './service-account-tokens.ts';
import { TokenRefused } from './token-refused.ts';

/** Finds whose a bearer token is that is meant for one of `audiences`. Throws `TokenRefused`. */
export type BearerTokens = (token: string, audiences: readonly string[], signal: AbortSignal) => Promise<TokenOwner>;

/** The operator's token is for this server only. */
export function createBearerTokens(options: {
  readonly operatorTokens: OperatorTokens;
  readonly serviceAccounts: ServiceAccountTokens;
}): BearerTokens {
  const { operatorTokens, serviceAccounts } = options;
  return async (token, audiences, signal) => {
    if (operatorTokens.has(token)) {
      if (audiences.includes(ISSUER)) return { identity: OPERATOR, audiences: [ISSUER] };
      throw new TokenRefused('the token is meant for somebody else');
    }
    return serviceAccounts.identify(token, audiences, signal);
  };
}

/** The hash a token is kept as. */
export function tokenHash(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
