import { createHash, type KeyObject } from 'node:crypto';

/** RFC 7638: an EC public key, named by what it is. */
export function keyThumbprint(key: KeyObject): string {
  const { crv, kty, x, y } = key.export({ format: 'jwk' });
  return createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url');
}
