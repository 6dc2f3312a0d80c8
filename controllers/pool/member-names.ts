import { NAME_ALPHABET } from '../../resources/ambient/ids.ts';
import { MEMBER_SUFFIX_LENGTH } from '../../resources/guards/pool-members.ts';
import type { Pool } from '../../resources/kinds/pool.ts';
import { fingerprint } from '../runtime/fingerprint.ts';

/**
 * Names for new members, in an order that is always the same: whoever does not see yet what was made, such as a process that takes over, asks for the same
 * names again, and learns that they are there. A name of one that is gone may come again.
 */
export function newMemberNames(
  { metadata }: Pool,
  count: number,
  isTaken: (name: string) => boolean,
): readonly string[] {
  const names = new Set<string>();
  for (let slot = 0; names.size < count; slot++) {
    const name = `${metadata.name}-${suffixOf(fingerprint(`${metadata.uid} ${slot}`))}`;
    if (!isTaken(name)) names.add(name);
  }
  return [...names];
}

function suffixOf(hash: bigint): string {
  const base = BigInt(NAME_ALPHABET.length);
  let [rest, text] = [hash, ''];
  for (let i = 0; i < MEMBER_SUFFIX_LENGTH; i++) {
    text += NAME_ALPHABET[Number(rest % base)];
    rest /= base;
  }
  return text;
}
