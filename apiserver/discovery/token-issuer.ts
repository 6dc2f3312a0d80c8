/** Who signs the tokens of service accounts, as others may learn it to check them. */
export interface TokenIssuer {
  readonly name: string;
  /** The public keys, as a JSON Web Key Set (RFC 7517). */
  keySet(): object;
}

/** `/.well-known/openid-configuration` (OpenID Connect Discovery 1.0). `host` is the server as the asker reaches it. */
export function issuerConfiguration({ name }: TokenIssuer, host: string) {
  return {
    issuer: name,
    jwks_uri: `https://${host}/openid/v1/jwks`,
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256'],
  };
}
