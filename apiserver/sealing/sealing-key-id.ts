import { createHash } from 'node:crypto';

/** How many digits a key is known by. */
export const KEY_ID_LENGTH = 16;

/** What a key to seal with is known by in what it sealed. */
export function sealingKeyId(key: Uint8Array): string {
  return createHash('sha256').update(key).digest('hex').slice(0, KEY_ID_LENGTH);
}
