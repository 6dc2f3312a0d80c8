import type { KeyPair } from './key-pair.ts';

/** How many transactions one of etcd's revisions has room for, in a store that is made now. */
export const ROOM = 64;
/** No text in UTF-8 ends with a byte from here on. */
const MARK = 0xc0;

/** Where a store began: at which revision of etcd's, at which of its own, and how many of its own fit in one of etcd's. */
export interface Beginning {
  readonly theirs: number;
  readonly ours: number;
  readonly room: number;
}

/**
 * Between etcd's revisions and the store's. Transactions sent as one share a revision of etcd's, and each has one of its own: the last of them that of a
 * transaction alone, those before it the ones before. A value says in a byte at its end how far behind the last it was; only a key's value can tell, so
 * what removes keys is never with others. A store without room for several has no such bytes, and in an etcd of its own its revisions have no gaps.
 *
 * The store begins at the etcd revision its identity was made at, at 0 or, where it took over from another, where that one was.
 */
export class Revisions {
  readonly room: number;
  readonly #began: Beginning;

  constructor(began: Beginning) {
    this.#began = began;
    this.room = began.room;
  }

  /** The store's revision at the end of etcd's, or so many before that. */
  ours(theirs: number, behind = 0): number {
    if (theirs === 0) return 0;
    const revision = this.#began.ours + (theirs - this.#began.theirs) * this.room - behind;
    if (Number.isSafeInteger(theirs) && Number.isSafeInteger(revision)) return revision;
    throw new RangeError(`etcd revision ${theirs} is beyond what can be counted`);
  }

  /** etcd's revision that it is in. */
  theirs(revision: number): number {
    return this.#began.theirs + Math.ceil((revision - this.#began.ours) / this.room);
  }

  /** The last of etcd's revisions that it has all of. */
  whole(revision: number): number {
    return this.#began.theirs + Math.floor((revision - this.#began.ours) / this.room);
  }

  /** What a compare asks for. Absent is 0 on both sides; no key was ever at a revision before etcd's first. */
  compared(revision: number): number {
    if (revision === 0) return 0;
    const theirs = this.theirs(revision);
    return revision < 0 || theirs <= 0 ? -1 : theirs;
  }

  /** The byte behind a value, where there is one. */
  mark(behind: number): number | undefined {
    return this.room === 1 ? undefined : MARK + behind;
  }

  /** What was written, and in which of the store's revisions. A value without a mark, which only somebody else can have written, is one written alone. */
  read({ value, modRevision }: Pick<KeyPair, 'value' | 'modRevision'>): Written {
    const mark = value.at(-1) ?? 0;
    const isMarked = this.room > 1 && mark >= MARK;
    return {
      revision: this.ours(modRevision, isMarked ? mark - MARK : 0),
      // Values are told apart from Buffers by what compares them; the memory is shared.
      value: new Uint8Array(value.buffer, value.byteOffset, value.byteLength - (isMarked ? 1 : 0)),
    };
  }
}

export interface Written {
  readonly revision: number;
  readonly value: Uint8Array;
}
