import { createHash, timingSafeEqual } from 'node:crypto';
import type { EnrollmentTokens } from '../enrollment/enrollment-tokens.ts';
import { OPERATOR } from './identity.ts';
import { ISSUER, type ServiceAccountTokens, type TokenOwner } from './service-account-tokens.ts';
import { TokenRefused } from './token-refused.ts';

/** Finds whose a bearer token is that is meant for one of `audiences`. Throws `TokenRefused`. */
export type BearerTokens = (token: string, audiences: readonly string[], signal: AbortSignal) => Promise<TokenOwner>;

/** `operatorTokenHash` is the SHA-256 of the operator's bearer token, as hex. The operator's is for this server only. */
export function createBearerTokens(options: {
  readonly operatorTokenHash: string;
  readonly serviceAccounts: ServiceAccountTokens;
  readonly enrollment: EnrollmentTokens;
}): BearerTokens {
  const isOperators = operatorCheck(Buffer.from(options.operatorTokenHash, 'hex'));
  return async (token, audiences, signal) => {
    if (isOperators(token)) {
      if (audiences.includes(ISSUER)) return { identity: OPERATOR, audiences: [ISSUER] };
      throw new TokenRefused('the token is meant for somebody else');
    }
    if (options.enrollment.knows(token)) {
      if (!audiences.includes(ISSUER)) throw new TokenRefused('the token is meant for somebody else');
      return { identity: await options.enrollment.identify(token, signal), audiences: [ISSUER] };
    }
    return options.serviceAccounts.identify(token, audiences, signal);
  };
}

/** Whether a token is the operator's. The one that was is compared as it is from then on, which takes a tenth of hashing it. */
function operatorCheck(expected: Buffer): (token: string) => boolean {
  let known: Buffer | undefined;
  return (token) => {
    const bytes = Buffer.from(token);
    if (known !== undefined && known.length === bytes.length && timingSafeEqual(known, bytes)) return true;
    const hash = sha256(token);
    if (hash.length !== expected.length || !timingSafeEqual(hash, expected)) return false;
    known = bytes;
    return true;
  };
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** The hash a token is kept as. */
export function tokenHash(token: string): string {
  return sha256(token).toString('hex');
}
