import { readFileSync } from 'node:fs';
import { writePrivate } from '../../apiserver/pki/write-private.ts';
import type { Ids } from '../../resources/ambient/ids.ts';
import { labelProblems } from '../../resources/meta/names.ts';
import { isObject } from '../../resources/meta/object.ts';
import { machineName } from './machine-name.ts';

/** Who a server is among those of its store. */
interface ServerName {
  /** What people call it. */
  readonly name: string;
  /** What tells it from another that was given the same name: the home's for good. */
  readonly uid: string;
}

const SUFFIX_LENGTH = 5;
const MAX_MACHINE_LENGTH = 40;

/** The name a home's server was started under last, or the one given now; a new home's is the machine's with a random end. */
export function serverName(path: string, given: string | undefined, ids: Ids): ServerName {
  const kept = readName(path);
  if (kept !== undefined && (given === undefined || given === kept.name)) return kept;
  const machine = machineName().slice(0, MAX_MACHINE_LENGTH);
  const own = { name: given ?? `${machine}-${ids.suffix(SUFFIX_LENGTH)}`, uid: kept?.uid ?? ids.uid() };
  writePrivate(path, `${JSON.stringify(own)}\n`);
  return own;
}

function readName(path: string): ServerName | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
    if (!isObject(value)) return undefined;
    const { name, uid } = value;
    if (typeof name !== 'string' || typeof uid !== 'string' || labelProblems(name).length > 0) return undefined;
    return { name, uid };
  } catch {
    // A first start, or a file that holds something else: the name is made anew, and nothing depends on the old one for long.
    return undefined;
  }
}
