import { createHash } from 'node:crypto';
import type { Eventual } from '../eventual.ts';
import type { Caller } from '../requests/server-request.ts';
import { OPERATOR } from './identity.ts';
import type { OperatorTokens } from './operator-tokens.ts';
import { ISSUER, type ServiceAccountTokens, type TokenOwner } from './service-account-tokens.ts';
import { TokenRefused } from './token-refused.ts';

/** Finds whose a bearer token is that is meant for one of `audiences`. Throws `TokenRefused`. */
export type BearerTokens = (token: string, audiences: readonly string[], caller: Caller) => Eventual<TokenOwner>;

const OPERATORS: TokenOwner = { identity: OPERATOR, audiences: [ISSUER] };

/** The operator's token is for this server only. */
export function createBearerTokens(options: {
  readonly operatorTokens: OperatorTokens;
  readonly serviceAccounts: ServiceAccountTokens;
}): BearerTokens {
  const { operatorTokens, serviceAccounts } = options;
  return (token, audiences, caller) => {
    if (operatorTokens.has(token)) {
      if (audiences.includes(ISSUER)) return OPERATORS;
      throw new TokenRefused('the token is meant for somebody else');
    }
    return serviceAccounts.identify(token, audiences, caller.signal);
  };
}

/** The hash a token is kept as. */
export function tokenHash(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
