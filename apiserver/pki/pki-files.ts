import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../resources/ambient/clock.ts';
import type { Ids } from '../../resources/ambient/ids.ts';
import { tokenHash } from '../auth/bearer-tokens.ts';
import type { ClientSubject } from './authority.ts';
import { BadKeyFileError } from './bad-key-file-error.ts';
import { type KeyPair, shouldRenew, vouches } from './leaf-life.ts';
import { sealingKeys } from './sealing-keys.ts';
import { newServiceAccountKey } from './service-account-key.ts';
import { writePrivate } from './write-private.ts';

/** What a server needs to be known and to know others, kept in the `pki` folder of its home (0700). */
export interface Pki {
  readonly caCert: string;
  /** The server's own leaf; a new one when the old is near its end, lacks a name, is another authority's, or has not its key. */
  serverLeaf(): Promise<KeyPair>;
  issueClient(subject: ClientSubject): Promise<KeyPair>;
  /** A client certificate, as PEM, for a key that is not ours: SubjectPublicKeyInfo in DER, of the curve P-256. */
  certifyClient(subject: ClientSubject, publicKey: Uint8Array): Promise<string>;
  /** The hash of the operator's token; `token` is the token itself when it is known or was just made. */
  operator(knownToken: string | undefined): { readonly token: string; readonly hash: string };
  /** The same where other servers go by that hash: it stays when the token is not known here, and then there is no token. */
  sharedOperator(knownToken: string | undefined): { readonly token: string | undefined; readonly hash: string };
  /** What signs the tokens of service accounts, as PEM; made at the first call and kept. Throws `BadKeyFileError`. */
  serviceAccountKey(): string;
  /** What Secrets are sealed with, the first of them from now on; made when there is none. Throws `BadKeyFileError`. */
  sealingKeys(): readonly string[];
}

/**
 * Opens the folder, making what is missing: not for two at once. Throws `BadKeyFileError`. `serverNames` are the DNS names and addresses the server is
 * reached by; its leaf is its own, and is kept in `leafFolder`.
 */
export async function openPki(
  folder: string,
  serverNames: readonly string[],
  clock: Clock,
  ids: Ids,
  leafFolder = folder,
): Promise<Pki> {
  for (const each of [folder, leafFolder]) {
    mkdirSync(each, { recursive: true, mode: 0o700 });
    chmodSync(each, 0o700);
  }
  const { pair, authority } = await openAuthority(folder, clock, ids);
  const operatorHashPath = join(folder, 'operator-token.sha256');
  const operatorHash = () => (existsSync(operatorHashPath) ? readFileSync(operatorHashPath, 'utf8').trim() : undefined);
  const operator = (knownToken: string | undefined) => {
    const kept = operatorHash();
    if (knownToken !== undefined && tokenHash(knownToken) === kept) return { token: knownToken, hash: kept };
    const token = ids.secret(32);
    writePrivate(operatorHashPath, `${tokenHash(token)}\n`);
    return { token, hash: tokenHash(token) };
  };
  return {
    caCert: pair.cert,
    async serverLeaf() {
      const kept = readPair(leafFolder, 'apiserver');
      if (kept !== undefined && vouches(pair.cert, kept) && !shouldRenew(kept.cert, serverNames, clock.now())) {
        return kept;
      }
      const leaf = await (await authority()).issue({ use: 'server', names: serverNames });
      writePair(leafFolder, 'apiserver', leaf);
      return leaf;
    },
    issueClient: async (subject) => (await authority()).issue({ use: 'client', ...subject }),
    certifyClient: async (subject, key) => (await authority()).certify({ use: 'client', ...subject }, key),
    operator,
    sharedOperator(knownToken) {
      const hash = operatorHash();
      const known = hash === undefined || (knownToken !== undefined && tokenHash(knownToken) === hash);
      return known ? operator(knownToken) : { token: undefined, hash };
    },
    serviceAccountKey() {
      const path = join(folder, 'service-account.key');
      if (existsSync(path)) {
        const kept = readFileSync(path, 'utf8');
        if (privateKey(path, kept).asymmetricKeyDetails?.namedCurve !== 'prime256v1')
          throw new BadKeyFileError(path, 'is no key of the curve P-256');
        return kept;
      }
      const key = newServiceAccountKey();
      writePrivate(path, key);
      return key;
    },
    sealingKeys: () => sealingKeys(folder, ids),
  };
}

/** The authority's certificate, and what issues with it: that loads a library which a start with kept certificates does without. */
async function openAuthority(folder: string, clock: Clock, ids: Ids) {
  const kept = readPair(folder, 'ca');
  if (kept !== undefined) {
    checkPair(folder, 'ca', kept);
    const authority = async () => (await import('./authority.ts')).Authority.load(kept, clock, ids);
    return { pair: kept, authority };
  }
  const { Authority } = await import('./authority.ts');
  const made = await Authority.create(clock, ids);
  writePair(folder, 'ca', made.pair);
  return { pair: made.pair, authority: async () => made };
}

/** Throws `BadKeyFileError`, before anybody is told of it, when a kept certificate or key is none, or they do not belong together. */
function checkPair(folder: string, name: string, { cert, key }: KeyPair): void {
  const [certPath, keyPath] = [join(folder, `${name}.crt`), join(folder, `${name}.key`)];
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(cert);
  } catch (cause) {
    throw new BadKeyFileError(certPath, 'is no certificate in PEM', { cause });
  }
  if (!certificate.checkPrivateKey(privateKey(keyPath, key)))
    throw new BadKeyFileError(keyPath, `is not the key of ${name}.crt beside it`);
}

function privateKey(path: string, pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch (cause) {
    throw new BadKeyFileError(path, 'is no private key in PEM', { cause });
  }
}

function readPair(folder: string, name: string): KeyPair | undefined {
  const [cert, key] = [join(folder, `${name}.crt`), join(folder, `${name}.key`)];
  if (!existsSync(cert) || !existsSync(key)) return undefined;
  return { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') };
}

/** Two files cannot change at once: a crash in between leaves a pair that does not belong together, which `vouches` finds out. */
function writePair(folder: string, name: string, pair: KeyPair): void {
  writePrivate(join(folder, `${name}.key`), pair.key);
  writePrivate(join(folder, `${name}.crt`), pair.cert);
}
