import { createHash, timingSafeEqual } from 'node:crypto';
import { ApiError } from '../../resources/meta/api-error.ts';
import type { Credential } from '../requests/server-request.ts';
import { type Identity, OPERATOR } from './identity.ts';

/** Finds who a credential is. Throws `Unauthorized` with the words every client knows. */
export type Authenticator = (credential: Credential) => Identity;

/** `operatorTokenHash` is the SHA-256 of the operator's bearer token, as hex. */
export function createAuthenticator(options: { readonly operatorTokenHash: string }): Authenticator {
  const expected = Buffer.from(options.operatorTokenHash, 'hex');
  return (credential) => {
    if (credential.kind === 'identity') return credential.identity;
    const { bearer, certificate } = credential;
    if (bearer !== undefined) {
      if (timingSafeEqual(sha256(bearer), expected)) return OPERATOR;
      throw unauthorized();
    }
    if (certificate === undefined) throw unauthorized();
    return {
      user: certificate.commonName,
      groups: [...certificate.organizations, 'system:authenticated'],
      ...(certificate.serial === '' ? {} : { uid: certificate.serial }),
    };
  };
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** The hash a token is kept as. */
export function tokenHash(token: string): string {
  return sha256(token).toString('hex');
}

export function unauthorized(): ApiError {
  return new ApiError('Unauthorized', 'Unauthorized');
}
