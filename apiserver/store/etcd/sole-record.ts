import { isObject } from '../../../resources/meta/object.ts';
import type { KeyPair } from './key-pair.ts';

/** Names a process, and finds out what became of others. */
export interface HolderMark {
  readonly own: string;
  /** Whether the process of a mark has ended for sure. False where that cannot be seen from here. */
  isGone(mark: string): Promise<boolean>;
}

/** What `ROOT/sole` says. */
interface SoleRecord {
  /** The member that holds it. */
  readonly holder: string;
  readonly process?: string;
}

export function encodeSole(record: SoleRecord): Buffer {
  return Buffer.from(JSON.stringify(record));
}

/** Of what cannot be read, nobody is the holder. */
export function readSole({ value }: Pick<KeyPair, 'value'>): SoleRecord {
  const record = parsed(value.toString());
  if (!isObject(record) || typeof record.holder !== 'string') return { holder: '' };
  const { holder, process } = record;
  return { holder, ...(typeof process === 'string' ? { process } : {}) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
