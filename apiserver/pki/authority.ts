import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';
import type { Clock } from '../../resources/ambient/clock.ts';
import type { Ids } from '../../resources/ambient/ids.ts';
import { DAY_MS, type KeyPair, LEAF_DAYS } from './leaf-life.ts';

/** What a leaf is for. */
export type LeafSubject =
  | { readonly use: 'server'; readonly names: readonly string[] }
  | {
      readonly use: 'client';
      readonly commonName: string;
      readonly organizations: readonly string[];
      /** Carried as the subject's serialNumber: the uid the certificate is bound to. */
      readonly serial?: string;
    };

export type ClientSubject = Omit<Extract<LeafSubject, { use: 'client' }>, 'use'>;

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const AUTHORITY_DAYS = 3650;
/** Clocks of hosts may be a little behind. */
const SKEW_MS = 5 * 60_000;

type CryptoKey = webcrypto.CryptoKey;
type CryptoKeyPair = webcrypto.CryptoKeyPair;

x509.cryptoProvider.set(webcrypto);

/** Makes certificates that chain to one authority. */
export class Authority {
  readonly #pair: KeyPair;
  readonly #clock: Clock;
  readonly #ids: Ids;

  private constructor(pair: KeyPair, clock: Clock, ids: Ids) {
    this.#pair = pair;
    this.#clock = clock;
    this.#ids = ids;
  }

  /** A new authority, valid for ten years. `generation` 1 is the first of an installation; each has a name of its own. */
  static async create(clock: Clock, ids: Ids, generation = 1): Promise<Authority> {
    const keys = await generateKeys();
    const cert = await x509.X509CertificateGenerator.createSelfSigned({
      serialNumber: serialNumber(ids),
      name: generation === 1 ? 'CN=coppice-ca' : `CN=coppice-ca-${generation}`,
      notBefore: new Date(clock.now() - SKEW_MS),
      notAfter: new Date(clock.now() + AUTHORITY_DAYS * DAY_MS),
      keys,
      signingAlgorithm: ALGORITHM,
      extensions: [
        new x509.BasicConstraintsExtension(true, 0, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      ],
    });
    return new Authority({ cert: cert.toString('pem'), key: await privatePem(keys) }, clock, ids);
  }

  /** An authority kept earlier. Throws when the two do not parse. */
  static load(pair: KeyPair, clock: Clock, ids: Ids): Authority {
    new x509.X509Certificate(pair.cert);
    return new Authority(pair, clock, ids);
  }

  get pair(): KeyPair {
    return this.#pair;
  }

  /** A leaf for ninety days. */
  async issue(subject: LeafSubject): Promise<KeyPair> {
    const keys = await generateKeys();
    return { cert: await this.#sign(subject, keys.publicKey), key: await privatePem(keys) };
  }

  /** The same for a key of somebody else: `publicKey` is on the curve P-256, as SubjectPublicKeyInfo in DER. Answers PEM. */
  async certify(subject: LeafSubject, publicKey: Uint8Array): Promise<string> {
    return this.#sign(subject, await webcrypto.subtle.importKey('spki', publicKey, ALGORITHM, true, ['verify']));
  }

  async #sign(subject: LeafSubject, publicKey: CryptoKey): Promise<string> {
    const issuer = new x509.X509Certificate(this.#pair.cert);
    const cert = await x509.X509CertificateGenerator.create({
      serialNumber: serialNumber(this.#ids),
      subject: subjectName(subject),
      issuer: issuer.subject,
      notBefore: new Date(this.#clock.now() - SKEW_MS),
      notAfter: new Date(this.#clock.now() + LEAF_DAYS * DAY_MS),
      publicKey,
      signingKey: await importPrivate(this.#pair.key),
      signingAlgorithm: ALGORITHM,
      extensions: await leafExtensions(subject, issuer, publicKey),
    });
    return cert.toString('pem');
  }
}

async function leafExtensions(
  subject: LeafSubject,
  issuer: x509.X509Certificate,
  publicKey: CryptoKey,
): Promise<x509.Extension[]> {
  const use = subject.use === 'server' ? x509.ExtendedKeyUsage.serverAuth : x509.ExtendedKeyUsage.clientAuth;
  const shared = [
    new x509.BasicConstraintsExtension(false, undefined, true),
    new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
    new x509.ExtendedKeyUsageExtension([use]),
    await x509.AuthorityKeyIdentifierExtension.create(issuer.publicKey),
    await x509.SubjectKeyIdentifierExtension.create(publicKey),
  ];
  if (subject.use === 'client') return shared;
  const names = subject.names.map((value) => ({
    type: /^[0-9.]+$|:/.test(value) ? ('ip' as const) : ('dns' as const),
    value,
  }));
  return [...shared, new x509.SubjectAlternativeNameExtension(names)];
}

function subjectName(subject: LeafSubject): x509.JsonName {
  if (subject.use === 'server') return [{ CN: ['coppice-apiserver'] }];
  return [
    ...subject.organizations.map((organization) => ({ O: [organization] })),
    { CN: [subject.commonName] },
    ...(subject.serial === undefined ? [] : [{ '2.5.4.5': [subject.serial] }]),
  ];
}

async function generateKeys(): Promise<CryptoKeyPair> {
  return (await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])) as CryptoKeyPair;
}

async function privatePem(keys: CryptoKeyPair): Promise<string> {
  return x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY');
}

async function importPrivate(pem: string): Promise<CryptoKey> {
  const [der] = x509.PemConverter.decode(pem);
  if (der === undefined) throw new Error('the key of the certificate authority holds no PEM block');
  return (await webcrypto.subtle.importKey('pkcs8', der, ALGORITHM, false, ['sign'])) as CryptoKey;
}

/** Positive and unique: 16 random bytes with the top bit clear. */
function serialNumber(ids: Ids): string {
  return `4${ids.secret(16).slice(1)}`;
}
