import 'reflect-metadata';
import { Pkcs10CertificateRequestGenerator } from '@peculiar/x509';

/** A certification request as PEM, and the key it asks for. */
export async function certificationRequest(
  curve = 'P-256',
): Promise<{ readonly request: string; readonly key: string }> {
  const algorithm = { name: 'ECDSA', namedCurve: curve, hash: 'SHA-256' };
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const request = await Pkcs10CertificateRequestGenerator.create({
    name: 'CN=whoever',
    keys,
    signingAlgorithm: algorithm,
  });
  const der = Buffer.from(await crypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64');
  const key = `-----BEGIN PRIVATE KEY-----\n${der.match(/.{1,64}/g)?.join('\n')}\n-----END PRIVATE KEY-----\n`;
  return { request: request.toString('pem'), key };
}
