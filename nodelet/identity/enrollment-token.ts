/** What a token from the operator says: `NAME.AUTHORITIES.SECRET`. */
export interface EnrollmentToken {
  /** The host it is for. */
  readonly host: string;
  /** SHA-256 of the authorities to trust, in hex; any of them will do. */
  readonly authorities: readonly string[];
  /** As it came: what is shown to the server. */
  readonly text: string;
}

const TOKEN = /^([a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)\.([0-9a-f]{64}(?:\+[0-9a-f]{64})*)\.[0-9a-f]{64}$/;

/** Undefined for a text that is no token. */
export function parseEnrollmentToken(text: string): EnrollmentToken | undefined {
  const [, host, authorities] = TOKEN.exec(text) ?? [];
  if (host === undefined || authorities === undefined) return undefined;
  return { host, authorities: authorities.split('+'), text };
}
