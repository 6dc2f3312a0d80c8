import type { Entry, StoreEvent } from '../store.ts';
import type { KeyPair } from './key-pair.ts';
import type { KeyEvent } from './watch-messages.ts';

const AFTER_SLASH = '0';

/**
 * Where a store stands in etcd: `ROOT/meta` is its identity, `ROOT/data/KEY` holds KEY, and `ROOT/sync` is written when a watch must be made
 * to move.
 */
export class Layout {
  readonly root: string;
  readonly meta: Buffer;
  readonly sync: Buffer;
  readonly everything: KeySpan;
  readonly #data: string;

  constructor(root: string) {
    this.root = root;
    this.meta = Buffer.from(`${root}/meta`);
    this.sync = Buffer.from(`${root}/sync`);
    this.everything = { key: Buffer.from(`${root}/`), range_end: Buffer.from(`${root}${AFTER_SLASH}`) };
    this.#data = `${root}/data/`;
  }

  key(key: string): Buffer {
    return Buffer.from(this.#data + key);
  }

  /** All keys with a prefix that come after a key. */
  span(prefix: string, after: string): KeySpan {
    const start = after >= prefix ? `${after}\0` : prefix;
    return { key: this.key(start), range_end: afterPrefix(this.#data + prefix) };
  }

  /** The store's key, or undefined for one of the store's own. */
  ours(key: Buffer): string | undefined {
    const text = key.toString('latin1');
    return text.startsWith(this.#data) ? text.slice(this.#data.length) : undefined;
  }
}

export interface KeySpan {
  readonly key: Buffer;
  readonly range_end: Buffer;
}

/** The first key after all that start with this. Store keys are printable ASCII, so the last byte can always go one up. */
function afterPrefix(prefix: string): Buffer {
  const end = Buffer.from(prefix);
  end[end.length - 1] = (end.at(-1) ?? 0) + 1;
  return end;
}

/**
 * Between etcd's revisions and the store's: `base` is what theirs are ahead of ours. The store's revision 0 is the etcd revision its identity was
 * made at, so a store begins at 0 in any etcd, and in one that nobody else writes to its revisions have no gaps. One that took over from another
 * begins where that one was; then `base` may be negative.
 */
export class Revisions {
  readonly #base: number;

  constructor(base: number) {
    this.#base = base;
  }

  ours(revision: number): number {
    if (!Number.isSafeInteger(revision))
      throw new RangeError(`etcd revision ${revision} is beyond what can be counted`);
    return revision === 0 ? 0 : revision - this.#base;
  }

  theirs(revision: number): number {
    return revision + this.#base;
  }

  /** What a compare asks for. Absent is 0 on both sides; no key was ever at a revision before etcd's first. */
  compared(revision: number): number {
    if (revision === 0) return 0;
    const theirs = this.theirs(revision);
    return revision < 0 || theirs <= 0 ? -1 : theirs;
  }
}

export function entryOf(pair: KeyPair, key: string, revisions: Revisions): Entry {
  return {
    key,
    value: bytesOf(pair.value),
    modRevision: revisions.ours(pair.modRevision),
    createRevision: revisions.ours(pair.createRevision),
  };
}

/** The event of a store key. */
export function eventOf({ deleted, value, createRevision, modRevision }: KeyEvent, key: string): StoreEvent {
  if (deleted) return { type: 'delete', key };
  return { type: 'put', key, value: bytesOf(value), created: createRevision === modRevision };
}

/** Values are told apart from Buffers by what compares them; the memory is shared. */
function bytesOf(value: Buffer): Uint8Array {
  return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
}
