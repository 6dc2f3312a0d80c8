import type { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { KeyEntry } from '../../../apiserver/pki/key-entries.ts';
import {
  certificateFingerprint,
  certificateIn,
  KEY_FILES,
  keyFilePath,
  ROTATABLE,
  type Rotatable,
  readKeyFile,
} from '../../../apiserver/pki/key-files.ts';
import { rfc3339 } from '../../../resources/ambient/clock.ts';
import type { Io } from '../../io.ts';
import { renderJson } from '../../render/json.ts';
import { outputOf } from '../../render/output.ts';
import { renderTable } from '../../render/table.ts';
import { renderYaml } from '../../render/yaml.ts';
import { type KeyFolder, type KeyFolderFlags, keyFolderOf, readingKeys } from './key-folder.ts';

/** One key, as far as it may be told of. */
export interface ShownKey {
  readonly what: string;
  /** What it does. */
  readonly use: string;
  readonly file: string;
  readonly since: string;
  /** When it ends; undefined where it does not by itself. */
  readonly until: string | undefined;
  readonly fingerprint: string;
}

/** What the first of a file does, and what the others do beside it. */
const USES: Readonly<Record<Rotatable, readonly [first: string, others: string]>> = {
  ca: ['issues', 'trusted'],
  'service-account-key': ['signs', 'trusted'],
  'sealing-key': ['seals', 'opens'],
  'operator-token': ['accepted', 'accepted'],
};

/** Prints what there is in a folder of keys, and nothing secret of it. */
export async function showKeys(io: Io, flags: KeyFolderFlags, outputFlag: string | undefined): Promise<void> {
  const folder = keyFolderOf(io, flags);
  const shown = await readingKeys(() => shownKeys(folder));
  const output = outputOf(io, outputFlag);
  if (output === 'json') io.stdout.write(renderJson(shown));
  else if (output === 'yaml') io.stdout.write(renderYaml(shown));
  else {
    const rows = shown.map(({ what, use, file, since, until = '-', fingerprint }) => [
      what,
      use,
      file,
      since,
      until,
      fingerprint,
    ]);
    io.stdout.write(renderTable(['what', 'use', 'file', 'since', 'until', 'fingerprint'], rows));
  }
}

/** Throws `BadKeyFileError`. */
export function shownKeys({ path, home }: Pick<KeyFolder, 'path' | 'home'>): readonly ShownKey[] {
  const rotatable = ROTATABLE.flatMap((what) =>
    (readKeyFile(path, what) ?? []).map((entry, at) => shownEntry(path, what, entry, at)),
  );
  const leaves = new Set([path, join(home, 'pki')]);
  return [...rotatable, ...[...leaves].flatMap(shownLeaf)];
}

function shownEntry(path: string, what: Rotatable, entry: KeyEntry, at: number): ShownKey {
  const file = keyFilePath(path, what);
  const [first, others] = USES[what];
  const own = { since: entry.since ?? rfc3339(statSync(file).mtimeMs), until: entry.until };
  return {
    what,
    use: entry.next === true ? 'next' : at === 0 ? first : others,
    file: basename(file),
    ...(what === 'ca' ? lifeOf(certificateIn(file, entry.text)) : own),
    fingerprint: KEY_FILES[what].fingerprint(entry.text),
  };
}

/** The certificate a server of this folder or home showed last. */
function shownLeaf(folder: string): readonly ShownKey[] {
  const file = join(folder, 'apiserver.crt');
  if (!existsSync(file)) return [];
  const text = readFileSync(file, 'utf8');
  const life = lifeOf(certificateIn(file, text));
  return [
    {
      what: 'server-certificate',
      use: 'serves',
      file: basename(file),
      ...life,
      fingerprint: certificateFingerprint(text),
    },
  ];
}

function lifeOf({ validFromDate, validToDate }: X509Certificate): { since: string; until: string } {
  return { since: rfc3339(validFromDate.getTime()), until: rfc3339(validToDate.getTime()) };
}
