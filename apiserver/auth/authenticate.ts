import { ApiError } from '../../resources/meta/api-error.ts';
import type { Credential } from '../requests/server-request.ts';
import type { BearerTokens } from './bearer-tokens.ts';
import { AUTHENTICATED_GROUP, type Identity } from './identity.ts';
import { ISSUER } from './service-account-tokens.ts';
import { TokenRefused } from './token-refused.ts';

/** Finds who a credential is. Throws `Unauthorized` with the words every client knows. */
export type Authenticator = (credential: Credential, signal: AbortSignal) => Promise<Identity>;

const AUDIENCES = [ISSUER];

export function createAuthenticator(bearerTokens: BearerTokens): Authenticator {
  return async (credential, signal) => {
    if (credential.kind === 'identity') return credential.identity;
    const { bearer, certificate } = credential;
    if (bearer !== undefined) return ownerOf(bearerTokens, bearer, signal);
    if (certificate === undefined) throw unauthorized();
    return {
      user: certificate.commonName,
      groups: [...certificate.organizations, AUTHENTICATED_GROUP],
      ...(certificate.serial === '' ? {} : { uid: certificate.serial }),
    };
  };
}

async function ownerOf(bearerTokens: BearerTokens, token: string, signal: AbortSignal): Promise<Identity> {
  try {
    return (await bearerTokens(token, AUDIENCES, signal)).identity;
  } catch (error) {
    if (!(error instanceof TokenRefused)) throw error;
    throw unauthorized();
  }
}

export function unauthorized(): ApiError {
  return new ApiError('Unauthorized', 'Unauthorized');
}
