import type { Entry, StoreEvent } from '../store.ts';
import type { KeyPair } from './key-pair.ts';
import type { Revisions } from './revisions.ts';
import type { KeyEvent } from './watch-messages.ts';

const AFTER_SLASH = '0';

/**
 * Where a store stands in etcd: `ROOT/meta` is its identity, `ROOT/data/KEY` holds KEY, and `ROOT/sync` is written when a watch must be made
 * to move. `ROOT/members/ID` is there while a process may write, and `ROOT/sole` while one answers reads by itself.
 */
export class Layout {
  readonly root: string;
  readonly meta: Buffer;
  readonly sync: Buffer;
  readonly sole: Buffer;
  readonly everything: KeySpan;
  readonly members: KeySpan;
  readonly #data: string;
  readonly #members: string;

  constructor(root: string) {
    this.root = root;
    this.meta = Buffer.from(`${root}/meta`);
    this.sync = Buffer.from(`${root}/sync`);
    this.sole = Buffer.from(`${root}/sole`);
    this.everything = { key: Buffer.from(`${root}/`), range_end: Buffer.from(`${root}${AFTER_SLASH}`) };
    this.#data = `${root}/data/`;
    this.#members = `${root}/members/`;
    this.members = { key: Buffer.from(this.#members), range_end: afterPrefix(this.#members) };
  }

  /** What a key is longer by than the store's. */
  get keyBytes(): number {
    return this.#data.length;
  }

  key(key: string): Buffer {
    return Buffer.from(this.#data + key);
  }

  member(id: string): Buffer {
    return Buffer.from(this.#members + id);
  }

  isMember(key: Buffer): boolean {
    return key.toString('latin1').startsWith(this.#members);
  }

  /** Those of all members but one: before it, and behind. */
  othersThan(member: Buffer): readonly [KeySpan, KeySpan] {
    const behind = Buffer.concat([member, Buffer.from([0])]);
    return [
      { key: this.members.key, range_end: member },
      { key: behind, range_end: this.members.range_end },
    ];
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

export function entryOf(pair: KeyPair, key: string, revisions: Revisions): Entry {
  const { value, revision } = revisions.read(pair);
  return { key, value, modRevision: revision, createRevision: revisions.ours(pair.createRevision) };
}

/** The event of a store key, written so. */
export function eventOf(
  { deleted, createRevision, modRevision }: KeyEvent,
  key: string,
  value: Uint8Array,
): StoreEvent {
  if (deleted) return { type: 'delete', key };
  return { type: 'put', key, value, created: createRevision === modRevision };
}
