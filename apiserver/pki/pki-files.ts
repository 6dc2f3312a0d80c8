import { chmodSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../resources/ambient/clock.ts';
import type { Ids } from '../../resources/ambient/ids.ts';
import { tokenHash } from '../auth/bearer-tokens.ts';
import type { OperatorToken } from '../auth/operator-tokens.ts';
import type { ClientSubject } from './authority.ts';
import { makeAuthorities, readAuthorities } from './authority-files.ts';
import { formatEntries, type KeyEntry } from './key-entries.ts';
import { keyFilePath, readKeyFile } from './key-files.ts';
import { type KeyPair, shouldRenew, vouches } from './leaf-life.ts';
import { sealingKeys } from './sealing-keys.ts';
import { newServiceAccountKey } from './service-account-key.ts';
import { writePrivate } from './write-private.ts';

/** What a server needs to be known and to know others, kept in the `pki` folder of its home (0700). */
export interface Pki {
  /** The certificates of all authorities that are trusted, that which issues first. */
  readonly caCert: string;
  /** The certificate of the one that issues. */
  readonly issuingCert: string;
  /** Reads the authorities again. Throws `BadKeyFileError`, and goes on with those it had. */
  refresh(): void;
  /** Whether a pair is of the authority that issues now, and belongs together. */
  isCurrent(pair: KeyPair): boolean;
  /** The server's own leaf; a new one when the old is near its end, lacks a name, is another authority's, or has not its key. */
  serverLeaf(): Promise<KeyPair>;
  issueClient(subject: ClientSubject): Promise<KeyPair>;
  /** A client certificate, as PEM, for a key that is not ours: SubjectPublicKeyInfo in DER, of the curve P-256. */
  certifyClient(subject: ClientSubject, publicKey: Uint8Array): Promise<string>;
  /**
   * The operator's token, as far as it is known: `knownToken` when it is one, else a new one that takes the place of those there were. It is not known
   * where the folder came from another server, whose operator has it. Throws `BadKeyFileError`.
   */
  operator(knownToken: string | undefined): { readonly token: string | undefined; readonly hash: string };
  /** The same where other servers go by that hash: it stays when the token is not known here, and then there is no token. */
  sharedOperator(knownToken: string | undefined): { readonly token: string | undefined; readonly hash: string };
  /** All tokens of the operator, as they are kept. Throws `BadKeyFileError`. */
  operatorTokens(): readonly OperatorToken[];
  /** What signs the tokens of service accounts, as PEM, and after it those it still trusts; made at the first call and kept. Throws `BadKeyFileError`. */
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
  let authorities = readAuthorities(folder) ?? (await makeAuthorities(folder, clock, ids));
  // It loads a library that a start with kept certificates does without.
  const authority = async () => (await import('./authority.ts')).Authority.load(authorities.issuing, clock, ids);
  return {
    get caCert() {
      return authorities.bundle;
    },
    get issuingCert() {
      return authorities.issuing.cert;
    },
    refresh() {
      authorities = readAuthorities(folder) ?? authorities;
    },
    isCurrent: (pair) => vouches(authorities.issuing.cert, pair),
    async serverLeaf() {
      const kept = readPair(leafFolder, 'apiserver');
      const { cert } = authorities.issuing;
      if (kept !== undefined && vouches(cert, kept) && !shouldRenew(kept.cert, serverNames, clock.now())) return kept;
      const leaf = await (await authority()).issue({ use: 'server', names: serverNames });
      writePair(leafFolder, 'apiserver', leaf);
      return leaf;
    },
    issueClient: async (subject) => (await authority()).issue({ use: 'client', ...subject }),
    certifyClient: async (subject, key) => (await authority()).certify({ use: 'client', ...subject }, key),
    operator: (knownToken) => operator(folder, knownToken, false, clock, ids),
    sharedOperator: (knownToken) => operator(folder, knownToken, true, clock, ids),
    operatorTokens: () => (readKeyFile(folder, 'operator-token') ?? []).map(asOperatorToken),
    serviceAccountKey() {
      const kept = readKeyFile(folder, 'service-account-key');
      if (kept !== undefined) return kept.map(({ text }) => text).join('');
      const key = newServiceAccountKey();
      writePrivate(keyFilePath(folder, 'service-account-key'), key);
      return key;
    },
    sealingKeys: () => sealingKeys(folder, ids),
  };
}

function operator(
  folder: string,
  knownToken: string | undefined,
  shared: boolean,
  clock: Clock,
  ids: Ids,
): ReturnType<Pki['operator']> {
  const kept = readKeyFile(folder, 'operator-token') ?? [];
  const hash = knownToken === undefined ? undefined : tokenHash(knownToken);
  const known = kept.map(asOperatorToken).find((each) => each.hash === hash);
  if (known !== undefined && (known.untilMs ?? Number.POSITIVE_INFINITY) > clock.now())
    return { token: knownToken, hash: known.hash };
  const [first] = kept;
  if (first !== undefined && (shared || first.elsewhere === true)) return { token: undefined, hash: first.text };
  const token = ids.secret(32);
  writePrivate(keyFilePath(folder, 'operator-token'), formatEntries([{ text: tokenHash(token) }]));
  return { token, hash: tokenHash(token) };
}

function asOperatorToken({ text, until }: KeyEntry): OperatorToken {
  return { hash: text, ...(until === undefined ? {} : { untilMs: Date.parse(until) }) };
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
