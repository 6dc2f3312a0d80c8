import { NAME_ALPHABET } from '../../resources/ambient/ids.ts';
import { SUFFIX_LENGTH } from '../../resources/guards/lease-set.ts';
import type { LeaseSet } from '../../resources/kinds/lease-set.ts';
import { fingerprint } from '../runtime/fingerprint.ts';

interface NewName {
  readonly name: string;
  /** What `LeaseSet.status.made` is once it is made. */
  readonly made: number;
}

/**
 * Names for new Leases of a set, in an order that is always the same: whoever does not see yet what was made, such as a process that takes over, asks for the
 * same names again, and learns that they are there. A name of one that is gone does not come again.
 */
export function* newLeaseNames(
  { metadata, status }: LeaseSet,
  count: number,
  isTaken: (name: string) => boolean,
): Iterable<NewName> {
  let left = count;
  for (let made = (status?.made ?? 0) + 1; left > 0; made++) {
    const name = `${metadata.name}-${suffixOf(fingerprint(`${metadata.uid} ${made}`))}`;
    if (isTaken(name)) continue;
    left--;
    yield { name, made };
  }
}

function suffixOf(hash: bigint): string {
  const base = BigInt(NAME_ALPHABET.length);
  let [rest, text] = [hash, ''];
  for (let i = 0; i < SUFFIX_LENGTH; i++) {
    text += NAME_ALPHABET[Number(rest % base)];
    rest /= base;
  }
  return text;
}
