import { createHash } from 'node:crypto';
import type { WorldView } from '../../resources/guards/world.ts';
import type { EnrollmentTokens } from '../enrollment/enrollment-tokens.ts';
import { andThen, type Eventual } from '../eventual.ts';
import type { Caller } from '../requests/server-request.ts';
import { requireEnabled } from './enabled-tenant.ts';
import { OPERATOR } from './identity.ts';
import type { OperatorTokens } from './operator-tokens.ts';
import { ISSUER, type ServiceAccountTokens, type TokenOwner } from './service-account-tokens.ts';
import type { TenantTokens } from './tenant-tokens.ts';
import { TokenRefused } from './token-refused.ts';

/** Finds whose a bearer token is that is meant for one of `audiences`. Throws `TokenRefused`. */
export type BearerTokens = (token: string, audiences: readonly string[], caller: Caller) => Eventual<TokenOwner>;

const OPERATORS: TokenOwner = { identity: OPERATOR, audiences: [ISSUER] };

/** The operator's token is for this server only. Those of a disabled tenant are a `Forbidden`. */
export function createBearerTokens(options: {
  readonly operatorTokens: OperatorTokens;
  readonly serviceAccounts: ServiceAccountTokens;
  readonly enrollment: EnrollmentTokens;
  readonly tenants: TenantTokens;
  readonly world: WorldView;
}): BearerTokens {
  const { operatorTokens, serviceAccounts, enrollment, tenants, world } = options;
  const admitted = (owner: TokenOwner): TokenOwner => {
    requireEnabled(owner.identity, world);
    return owner;
  };
  return (token, audiences, caller) => {
    if (operatorTokens.has(token)) {
      if (audiences.includes(ISSUER)) return OPERATORS;
      throw new TokenRefused('the token is meant for somebody else');
    }
    if (tenants.knows(token)) return andThen(owning(tenants, token, audiences, caller.signal), admitted);
    if (enrollment.knows(token)) return enrolling(enrollment, token, audiences, caller.signal);
    return serviceAccounts.identify(token, audiences, caller.signal).then(admitted);
  };
}

function owning(
  tenants: TenantTokens,
  token: string,
  audiences: readonly string[],
  signal: AbortSignal,
): Eventual<TokenOwner> {
  if (!audiences.includes(ISSUER)) throw new TokenRefused('the token is meant for somebody else');
  return andThen(tenants.identify(token, signal), (identity) => ({ identity, audiences: [ISSUER] }));
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

/** The hash a token is kept as. */
export function tokenHash(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
