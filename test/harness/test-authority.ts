import 'reflect-metadata';
import {
  BasicConstraintsExtension,
  type JsonGeneralName,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';

/** A certificate for 127.0.0.1 and what to trust for it, in PEM. */
export interface TestCertificate {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

/** A fresh self-signed certificate, good for an hour. */
export async function testCertificate(): Promise<TestCertificate> {
  const keys = await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const names: JsonGeneralName[] = [
    { type: 'ip', value: '127.0.0.1' },
    { type: 'dns', value: 'localhost' },
  ];
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: 'CN=coppice test',
    serialNumber: '01',
    notBefore: new Date(Date.now() - 60_000),
    notAfter: new Date(Date.now() + 3_600_000),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [new BasicConstraintsExtension(true), new SubjectAlternativeNameExtension(names)],
  });
  const cert = certificate.toString('pem');
  const der = Buffer.from(await crypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64');
  const key = `-----BEGIN PRIVATE KEY-----\n${der.match(/.{1,64}/g)?.join('\n')}\n-----END PRIVATE KEY-----\n`;
  return { ca: cert, cert, key };
}
