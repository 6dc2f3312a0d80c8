import { createPrivateKey, X509Certificate } from 'node:crypto';
import { statSync } from 'node:fs';
import { type Clock, rfc3339 } from '../../resources/ambient/clock.ts';
import type { Ids } from '../../resources/ambient/ids.ts';
import { tokenHash } from '../auth/bearer-tokens.ts';
import { caKeyPath, readAuthorities, readAuthorityKeys } from './authority-files.ts';
import { BadKeyFileError } from './bad-key-file-error.ts';
import { formatEntries, type KeyEntry } from './key-entries.ts';
import { KEY_FILES, keyFilePath, type Rotatable, readKeyFile } from './key-files.ts';
import { newSealingKey } from './sealing-keys.ts';
import { newServiceAccountKey } from './service-account-key.ts';
import { writePrivate } from './write-private.ts';

/** What is changed in two steps: everybody learns to trust the new one before it is used, and the old one goes when nothing needs it. */
export type Successive = Exclude<Rotatable, 'operator-token'>;

interface Folder {
  readonly path: string;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** How far the change of a key is. */
type Phase =
  /** There is one. */
  | 'settled'
  /** The next one is trusted, and the old one is in use. */
  | 'trusted'
  /** The next one is in use, and the old one is still trusted. */
  | 'switched';

/** The keys of a file, the one in use first. Throws `BadKeyFileError` where there are none. */
export function keysOf({ path }: Pick<Folder, 'path'>, what: Rotatable): readonly KeyEntry[] {
  const entries = readKeyFile(path, what);
  if (entries === undefined) throw new BadKeyFileError(keyFilePath(path, what), 'is not there');
  if (what === 'ca') readAuthorities(path);
  return entries;
}

export function phaseOf(folder: Pick<Folder, 'path'>, what: Successive): Phase {
  const [, ...others] = keysOf(folder, what);
  if (others.length === 0) return 'settled';
  return others.some(({ next }) => next === true) ? 'trusted' : 'switched';
}

/*
 * Each step below changes the one file that says what is trusted and what is in use, in one rename. What is done around it in other files is
 * harmless when it is all that was done, and is done again or undone by the next run.
 */

/** Makes the next key, trusted from now on and not used yet. To be called while settled. Answers its fingerprint. */
export async function addNext(folder: Folder, what: Successive): Promise<string> {
  const entries = keysOf(folder, what);
  const text = await newKey(folder, what, entries.length + 1);
  const since = rfc3339(folder.clock.now());
  // From now on the time of the file says nothing of when the first was made.
  const before = rfc3339(statSync(keyFilePath(folder.path, what)).mtimeMs);
  const dated = entries.map((entry) => ({ since: before, ...entry }));
  write(folder, what, [...dated, { text, since, next: true }]);
  return KEY_FILES[what].fingerprint(text);
}

/** Uses the next key from now on; the old ones stay trusted. Again does nothing. */
export function useNext(folder: Folder, what: Successive): void {
  const entries = keysOf(folder, what);
  const next = entries.find((entry) => entry.next === true);
  if (next === undefined) return;
  const { next: _, ...used } = next;
  write(folder, what, [used, ...entries.filter((entry) => entry !== next)]);
}

/** Trusts only the one in use from now on. Again does nothing. */
export function dropOld(folder: Folder, what: Successive): void {
  const [current, ...others] = keysOf(folder, what);
  if (current === undefined) return;
  if (others.length > 0) write(folder, what, [current]);
  if (what === 'ca') dropKeysWithout(folder, current);
}

/** Trusts a new token of the operator, and the old ones until an instant, in milliseconds, or from now on no more. */
export function writeOperatorToken(folder: Folder, token: string, keepOldUntilMs: number | undefined): void {
  const nowMs = folder.clock.now();
  const hash = tokenHash(token);
  const old = readKeyFile(folder.path, 'operator-token') ?? [];
  const kept = keepOldUntilMs === undefined ? [] : old.filter(({ text }) => text !== hash);
  const ending = kept.map(({ elsewhere: _, ...entry }) => {
    const ownEndMs = entry.until === undefined ? Number.POSITIVE_INFINITY : Date.parse(entry.until);
    return { ...entry, until: rfc3339(Math.min(ownEndMs, keepOldUntilMs ?? nowMs)) };
  });
  const alive = ending.filter(({ until }) => Date.parse(until) > nowMs);
  const content = formatEntries([{ text: hash, since: rfc3339(nowMs) }, ...alive]);
  writePrivate(keyFilePath(folder.path, 'operator-token'), content);
}

function write({ path }: Folder, what: Successive, entries: readonly KeyEntry[]): void {
  writePrivate(keyFilePath(path, what), formatEntries(entries));
}

async function newKey(folder: Folder, what: Successive, generation: number): Promise<string> {
  switch (what) {
    case 'ca':
      return newAuthority(folder, generation);
    case 'service-account-key':
      return newServiceAccountKey();
    case 'sealing-key':
      return newSealingKey(folder.ids);
  }
}

/** The key first: a certificate is never there without it. */
async function newAuthority({ path, clock, ids }: Folder, least: number): Promise<string> {
  const { Authority } = await import('./authority.ts');
  const { pair } = await Authority.create(clock, ids, Math.max(least, lastGeneration(path) + 1));
  const since = rfc3339(clock.now());
  writePrivate(caKeyPath(path), formatEntries([...readAuthorityKeys(path), { text: pair.key, since }]));
  return pair.cert;
}

function lastGeneration(path: string): number {
  const certificates = keysOf({ path }, 'ca').map(({ text }) => new X509Certificate(text).subject);
  return Math.max(...certificates.map((subject) => Number(/^CN=coppice-ca-(\d+)$/m.exec(subject)?.[1] ?? 1)));
}

function dropKeysWithout({ path }: Folder, { text }: KeyEntry): void {
  const certificate = new X509Certificate(text);
  const keys = readAuthorityKeys(path);
  const kept = keys.filter((key) => certificate.checkPrivateKey(createPrivateKey(key.text)));
  if (kept.length < keys.length) writePrivate(caKeyPath(path), formatEntries(kept));
}
