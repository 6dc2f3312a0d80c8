import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../resources/ambient/clock.ts';
import type { Ids } from '../../resources/ambient/ids.ts';
import { BadKeyFileError } from './bad-key-file-error.ts';
import { formatEntries, type KeyEntry, parseEntries } from './key-entries.ts';
import { certificateIn, KEY_FILES, keyFilePath, privateKeyIn, readKeyFile } from './key-files.ts';
import type { KeyPair } from './leaf-life.ts';
import { writePrivate } from './write-private.ts';

/** The certificate authorities of a folder. */
interface Authorities {
  /** All that are trusted, as PEM one after the other. */
  readonly bundle: string;
  /** The one that issues. */
  readonly issuing: KeyPair;
}

export const CA_KEYS = 'ca.key';

export const caKeyPath = (folder: string): string => join(folder, CA_KEYS);

/**
 * The authorities of a folder; undefined when there never were any. The list of certificates alone says which are trusted and which issues, so that
 * a change is one file; a key without its certificate counts for nothing. Throws `BadKeyFileError` when one of the two files is missing, or the one
 * that issues has no key.
 */
export function readAuthorities(folder: string): Authorities | undefined {
  const [certPath, keyPath] = [keyFilePath(folder, 'ca'), caKeyPath(folder)];
  const certificates = readKeyFile(folder, 'ca');
  if (certificates === undefined) {
    // The key is written first: without anything else in the folder, a first start got no further.
    if (!existsSync(keyPath) || isAlone(folder)) return undefined;
    throw new BadKeyFileError(certPath, `is missing, and ${CA_KEYS} is there`);
  }
  if (!existsSync(keyPath)) throw new BadKeyFileError(keyPath, `is missing, and ${KEY_FILES.ca.name} is there`);
  const issuing = certificates[0]?.text ?? '';
  const certificate = certificateIn(certPath, issuing);
  const key = readAuthorityKeys(folder).find(({ text }) => certificate.checkPrivateKey(privateKeyIn(keyPath, text)));
  if (key === undefined) throw new BadKeyFileError(keyPath, `is not the key of ${KEY_FILES.ca.name} beside it`);
  return { bundle: certificates.map(({ text }) => text).join(''), issuing: { cert: issuing, key: key.text } };
}

export function readAuthorityKeys(folder: string): readonly KeyEntry[] {
  const path = caKeyPath(folder);
  return parseEntries(path, readFileSync(path, 'utf8'), 'pem', 'is no private key in PEM');
}

/** A new authority for a folder that has none. */
export async function makeAuthorities(folder: string, clock: Clock, ids: Ids): Promise<Authorities> {
  const { Authority } = await import('./authority.ts');
  const { pair } = await Authority.create(clock, ids);
  writePrivate(caKeyPath(folder), formatEntries([{ text: pair.key }]));
  writePrivate(keyFilePath(folder, 'ca'), formatEntries([{ text: pair.cert }]));
  const made = readAuthorities(folder);
  if (made === undefined) throw new BadKeyFileError(keyFilePath(folder, 'ca'), 'was removed while it was made');
  return made;
}

function isAlone(folder: string): boolean {
  const others = ['apiserver.crt', ...Object.values(KEY_FILES).map(({ name }) => name)];
  return others.every((name) => !existsSync(join(folder, name)));
}
