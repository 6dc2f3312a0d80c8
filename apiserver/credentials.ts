import { type Authenticator, createAuthenticator } from './auth/authenticate.ts';
import { createBearerTokens } from './auth/bearer-tokens.ts';
import { OperatorTokens } from './auth/operator-tokens.ts';
import { ISSUER, ServiceAccountTokens } from './auth/service-account-tokens.ts';
import { TenantTokens } from './auth/tenant-tokens.ts';
import { TokenExpiries } from './auth/token-expiries.ts';
import type { TokenIssuer } from './discovery/token-issuer.ts';
import { EnrollmentTokens } from './enrollment/enrollment-tokens.ts';
import { HostAuthorities } from './enrollment/host-authorities.ts';
import { type HostAuthority, HostEnrollment } from './enrollment/host-enrollment.ts';
import { JoinTokens } from './joining/join-tokens.ts';
import { type JoinMaterial, ServerJoining } from './joining/server-joining.ts';
import { newServiceAccountKey } from './pki/service-account-key.ts';
import { answerersOf } from './questions/answerers.ts';
import type { Answerers } from './verbs/answer.ts';
import type { ServerParts } from './verbs/verb-context.ts';

export interface CredentialOptions {
  readonly operatorTokenHash: string;
  /** What signs the tokens of service accounts: EC P-256 keys as PEM, of which the first signs. Without one they are good for this run only. */
  readonly serviceAccountKey?: string;
  /** Who certifies hosts; without it none can be enrolled here. */
  readonly hostAuthority?: HostAuthority;
  /** What a new server is given; without it none is let in here. */
  readonly joinMaterial?: () => JoinMaterial;
}

/** Who may come in to a server, and how they get what they show. */
interface Credentials {
  readonly authenticate: Authenticator;
  readonly answerers: Answerers;
  readonly issuer: TokenIssuer;
  readonly operatorTokens: OperatorTokens;
  readonly serviceAccounts: ServiceAccountTokens;
  readonly expiries: TokenExpiries;
  readonly hostAuthorities: HostAuthorities;
}

/** `reread` is called where a token is of a key that is not known. */
export function createCredentials(
  options: CredentialOptions,
  { store, cache, clock, ids }: ServerParts,
  reread: () => void,
): Credentials {
  const { operatorTokenHash, serviceAccountKey: key = newServiceAccountKey() } = options;
  const operatorTokens = new OperatorTokens([{ hash: operatorTokenHash }], clock);
  const expiries = new TokenExpiries(store);
  const serviceAccounts = new ServiceAccountTokens({ key, clock, ids, cache, expiries, reread });
  const enrollment = new EnrollmentTokens({ store, clock, ids });
  const tenants = new TenantTokens({ store, cache, ids });
  const { world } = cache;
  const bearerTokens = createBearerTokens({ operatorTokens, serviceAccounts, enrollment, tenants, world });
  const hostAuthorities = new HostAuthorities(store, cache);
  const hosts = new HostEnrollment(enrollment, options.hostAuthority, hostAuthorities);
  const joining = new ServerJoining(new JoinTokens({ store, clock, ids }), options.joinMaterial);
  return {
    authenticate: createAuthenticator(bearerTokens),
    answerers: answerersOf({ bearerTokens, serviceAccounts, tenants, hosts, joining }),
    issuer: { name: ISSUER, keySet: () => serviceAccounts.keySet() },
    operatorTokens,
    serviceAccounts,
    expiries,
    hostAuthorities,
  };
}
