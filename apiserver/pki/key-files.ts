import { createHash, createPrivateKey, createPublicKey, type KeyObject, X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { keyThumbprint } from '../auth/key-thumbprint.ts';
import { sealingKeyId } from '../sealing/sealing-key-id.ts';
import { BadKeyFileError } from './bad-key-file-error.ts';
import { type KeyEntry, parseEntries } from './key-entries.ts';

/** What of the folder can be changed while servers run. */
export const ROTATABLE = ['ca', 'service-account-key', 'sealing-key', 'operator-token'] as const;
export type Rotatable = (typeof ROTATABLE)[number];

interface KeyFile {
  readonly name: string;
  readonly form: 'pem' | 'hex';
  /** What is said of a file that holds something else. */
  readonly wanted: string;
  /** Throws `BadKeyFileError` unless it is one. */
  check(path: string, text: string): void;
  /** What it is known by, which tells nothing of it. */
  fingerprint(text: string): string;
}

const HEX_KEYS = 'does not hold keys of 32 bytes in hex, one a line';
const HEX_HASHES = 'does not hold hashes of 32 bytes in hex, one a line';
const FINGERPRINT_LENGTH = 16;

const isHex = (wanted: string) => (path: string, text: string) => {
  if (!/^[0-9a-f]{64}$/.test(text)) throw new BadKeyFileError(path, wanted);
};

export const KEY_FILES: Readonly<Record<Rotatable, KeyFile>> = {
  ca: {
    name: 'ca.crt',
    form: 'pem',
    wanted: 'is no certificate in PEM',
    check: (path, text) => void certificateIn(path, text),
    fingerprint: (text) => certificateFingerprint(text),
  },
  'service-account-key': {
    name: 'service-account.key',
    form: 'pem',
    wanted: 'is no private key in PEM',
    check(path, text) {
      if (privateKeyIn(path, text).asymmetricKeyDetails?.namedCurve !== 'prime256v1')
        throw new BadKeyFileError(path, 'is no key of the curve P-256');
    },
    fingerprint: (text) => keyThumbprint(createPublicKey(text)),
  },
  'sealing-key': {
    name: 'sealing.key',
    form: 'hex',
    wanted: HEX_KEYS,
    check: isHex(HEX_KEYS),
    fingerprint: (text) => sealingKeyId(Buffer.from(text, 'hex')),
  },
  'operator-token': {
    name: 'operator-token.sha256',
    form: 'hex',
    wanted: HEX_HASHES,
    check: isHex(HEX_HASHES),
    fingerprint: (text) => text.slice(0, FINGERPRINT_LENGTH),
  },
};

export const keyFilePath = (folder: string, what: Rotatable): string => join(folder, KEY_FILES[what].name);

/** What a file of the folder holds, the one in use first; undefined when it is not there. Throws `BadKeyFileError`. */
export function readKeyFile(folder: string, what: Rotatable): readonly KeyEntry[] | undefined {
  const path = keyFilePath(folder, what);
  if (!existsSync(path)) return undefined;
  const { form, wanted, check } = KEY_FILES[what];
  const entries = parseEntries(path, readFileSync(path, 'utf8'), form, wanted);
  for (const { text } of entries) check(path, text);
  return entries;
}

export function certificateIn(path: string, pem: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (cause) {
    throw new BadKeyFileError(path, KEY_FILES.ca.wanted, { cause });
  }
}

export function privateKeyIn(path: string, pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch (cause) {
    throw new BadKeyFileError(path, 'is no private key in PEM', { cause });
  }
}

/** The first 16 digits of the SHA-256 of a certificate. */
export function certificateFingerprint(pem: string): string {
  return createHash('sha256').update(new X509Certificate(pem).raw).digest('hex').slice(0, FINGERPRINT_LENGTH);
}
