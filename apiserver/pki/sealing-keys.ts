import type { Ids } from '../../resources/ambient/ids.ts';
import { formatEntries } from './key-entries.ts';
import { KEY_FILES, keyFilePath, readKeyFile } from './key-files.ts';
import { writePrivate } from './write-private.ts';

/** One key a line, 32 bytes in hex. The first seals; the others still open what they sealed, or will seal next. */
export const SEALING_KEY_FILE = KEY_FILES['sealing-key'].name;

/** A new key, in hex. */
export const newSealingKey = (ids: Ids): string => ids.secret(32);

/** The keys in a folder's key file, which is made when it is not there. */
export function sealingKeys(folder: string, ids: Ids): readonly string[] {
  const path = keyFilePath(folder, 'sealing-key');
  const kept = readKeyFile(folder, 'sealing-key');
  if (kept !== undefined) return kept.map(({ text }) => text);
  const key = newSealingKey(ids);
  writePrivate(path, formatEntries([{ text: key }]));
  return [key];
}
