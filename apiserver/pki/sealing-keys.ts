import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Ids } from '../../resources/ambient/ids.ts';
import { BadKeyFileError } from './bad-key-file-error.ts';
import { writePrivate } from './write-private.ts';

/** One key a line, 32 bytes in hex. A new first line is the key from then on; older lines still open what they sealed. */
export const SEALING_KEY_FILE = 'sealing.key';

const KEY_BYTES = 32;
const KEY = /^[0-9a-f]{64}$/;

/** The keys in a folder's key file, which is made when it is not there. */
export function sealingKeys(folder: string, ids: Ids): readonly string[] {
  const path = join(folder, SEALING_KEY_FILE);
  if (!existsSync(path)) writePrivate(path, `${ids.secret(KEY_BYTES)}\n`);
  const keys = readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.trim());
  if (!keys.every((key) => KEY.test(key)))
    throw new BadKeyFileError(path, `does not hold keys of ${KEY_BYTES} bytes in hex, one a line`);
  return keys;
}
