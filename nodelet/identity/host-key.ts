import { webcrypto } from 'node:crypto';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

/** A new private key of a host, as PEM. */
export async function newHostKey(): Promise<string> {
  const { privateKey } = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', privateKey));
  return pem('PRIVATE KEY', der);
}

/** A certification request (PKCS #10) for a private key, both as PEM. What the certificate says is for the server to decide. */
export async function requestFor(keyPem: string): Promise<string> {
  // Loaded when a certificate is wanted, which is a few times a year.
  await import('reflect-metadata');
  const { Pkcs10CertificateRequestGenerator } = await import('@peculiar/x509');
  const request = await Pkcs10CertificateRequestGenerator.create(
    { name: 'CN=coppice-host', keys: await keysOf(keyPem), signingAlgorithm: ALGORITHM },
    globalThis.crypto,
  );
  return request.toString('pem');
}

async function keysOf(keyPem: string): Promise<webcrypto.CryptoKeyPair> {
  const der = Buffer.from(keyPem.replace(/-----[^-]+-----|\s/g, ''), 'base64');
  const privateKey = await webcrypto.subtle.importKey('pkcs8', der, ALGORITHM, true, ['sign']);
  const { kty, crv, x, y } = await webcrypto.subtle.exportKey('jwk', privateKey);
  const open = { kty, crv, x, y } as webcrypto.JsonWebKey;
  const publicKey = await webcrypto.subtle.importKey('jwk', open, ALGORITHM, true, ['verify']);
  return { privateKey, publicKey };
}

function pem(label: string, der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}
