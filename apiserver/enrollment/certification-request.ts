import { createPublicKey } from 'node:crypto';
import { ApiError } from '../../resources/meta/api-error.ts';

/**
 * The public key of a certification request (PKCS #10 in PEM), as SubjectPublicKeyInfo in DER; whoever sent it holds the private key. Throws `BadRequest`.
 */
export async function requestedKey(pem: string): Promise<Uint8Array> {
  // Only servers that enroll a host take the time to load it.
  await import('reflect-metadata');
  const { Pkcs10CertificateRequest } = await import('@peculiar/x509');
  let signed: boolean;
  let key: Uint8Array;
  try {
    const request = new Pkcs10CertificateRequest(pem);
    key = new Uint8Array(request.publicKey.rawData);
    if (!isP256(key)) throw new TypeError('its key is not of the curve P-256');
    signed = await request.verify(globalThis.crypto);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ApiError('BadRequest', `spec.request is no certification request: ${why}`, { cause: error });
  }
  if (!signed) throw new ApiError('BadRequest', 'spec.request is not signed by the key in it');
  return key;
}

function isP256(spki: Uint8Array): boolean {
  const key = createPublicKey({ key: Buffer.from(spki), format: 'der', type: 'spki' });
  return key.asymmetricKeyDetails?.namedCurve === 'prime256v1';
}
