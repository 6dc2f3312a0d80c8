import { generateKeyPairSync } from 'node:crypto';

/** A new key to sign the tokens of service accounts with: EC P-256, PKCS #8 as PEM. */
export function newServiceAccountKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}
