import { createHash, timingSafeEqual } from 'node:crypto';
import type { EnrollmentTokens } from '../enrollment/enrollment-tokens.ts';
import type { Eventual } from '../eventual.ts';
import type { Caller } from '../requests/server-request.ts';
import { OPERATOR } from './identity.ts';
import { ISSUER, type ServiceAccountTokens, type TokenOwner } from './service-account-tokens.ts';
import { TokenRefused } from './token-refused.ts';

/** Finds whose a bearer token is that is meant for one of `audiences`. Throws `TokenRefused`. */
export type BearerTokens = (token: string, audiences: readonly string[], caller: Caller) => Eventual<TokenOwner>;

const OPERATORS: TokenOwner = { identity: OPERATOR, audiences: [ISSUER] };

/** `operatorTokenHash` is the SHA-256 of the operator's bearer token, as hex. The operator's is for this server only. */
export function createBearerTokens(options: {
  readonly operatorTokenHash: string;
  readonly serviceAccounts: ServiceAccountTokens;
  readonly enrollment: EnrollmentTokens;
}): BearerTokens {
  const isOperators = operatorCheck(Buffer.from(options.operatorTokenHash, 'hex'));
  return (token, audiences, caller) => {
    if (isOperators(token)) {
      if (audiences.includes(ISSUER)) return OPERATORS;
      throw new TokenRefused('the token is meant for somebody else');
    }
    if (options.enrollment.knows(token)) return enrolling(options.enrollment, token, audiences, caller.signal);
    return options.serviceAccounts.identify(token, audiences, caller.signal);
  };
}

async function enrolling(
  enrollment: EnrollmentTokens,
  token: string,
  audiences: readonly string[],
  signal: AbortSignal,
): Promise<TokenOwner> {
  if (!audiences.includes(ISSUER)) throw new TokenRefused('the token is meant for somebody else');
  return { identity: await enrollment.identify(token, signal), audiences: [ISSUER] };
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
