import { ApiError } from '../../resources/meta/api-error.ts';
import type { Eventual } from '../eventual.ts';
import { isJoinToken } from '../joining/join-tokens.ts';
import type { Caller, Credential } from '../requests/server-request.ts';
import { type BearerTokens, tokenHash } from './bearer-tokens.ts';
import { AUTHENTICATED_GROUP, type Identity, joinerIdentity } from './identity.ts';
import { ISSUER } from './service-account-tokens.ts';
import { TokenRefused } from './token-refused.ts';

/** Finds who a credential is. Throws `Unauthorized` with the words every client knows. */
export type Authenticator = (credential: Credential, caller: Caller) => Eventual<Identity>;

const AUDIENCES = [ISSUER];

export function createAuthenticator(bearerTokens: BearerTokens): Authenticator {
  return (credential, caller) => {
    if (credential.kind === 'identity') return credential.identity;
    const { bearer, certificate } = credential;
    if (bearer !== undefined && isJoinToken(bearer)) return joinerIdentity(tokenHash(bearer));
    if (bearer !== undefined) return ownerOf(bearerTokens, bearer, caller);
    if (certificate === undefined) throw unauthorized();
    return {
      user: certificate.commonName,
      groups: [...certificate.organizations, AUTHENTICATED_GROUP],
      ...(certificate.serial === '' ? {} : { uid: certificate.serial }),
    };
  };
}

function ownerOf(bearerTokens: BearerTokens, token: string, caller: Caller): Eventual<Identity> {
  const owner = bearerTokens(token, AUDIENCES, caller);
  if (!(owner instanceof Promise)) return owner.identity;
  return owner.then(
    ({ identity }) => identity,
    (error: unknown) => {
      throw error instanceof TokenRefused ? unauthorized() : error;
    },
  );
}

function unauthorized(): ApiError {
  return new ApiError('Unauthorized', 'Unauthorized');
}
