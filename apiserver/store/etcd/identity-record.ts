import { isObject } from '../../../resources/meta/object.ts';
import { StoreError, type StoreOrigin } from '../store.ts';
import type { KeyPair } from './key-pair.ts';
import type { Layout } from './layout.ts';

/** What this code reads. A store with a greater number is refused. */
const SCHEMA = 4;

/** What `ROOT/meta` says. */
export interface IdentityRecord {
  readonly uid: string;
  /** The store's revision at the time the key was made; 0 where it says nothing. */
  readonly base: number;
  /** How many of its revisions fit in one of etcd's; 1 where it says nothing. */
  readonly room: number;
  /** Whoever writes is a member, and says so with each write. */
  readonly membersOnly?: true;
  readonly origin?: StoreOrigin;
  /** It is being filled: nobody may serve from it. */
  readonly unfinished?: true;
  /** Its data was copied elsewhere: nobody may serve from it any more. */
  readonly moved?: MoveMark;
}

/** Where a store went. */
export interface MoveMark {
  /** For people: `etcd at HOST:PORT`, or a path. */
  readonly to: string;
  /** RFC 3339. */
  readonly at: string;
}

/** Of a store that is made now: one without room for several transactions is one that older versions can share. */
export const newRecord = (record: IdentityRecord): IdentityRecord =>
  record.room === 1 ? record : { ...record, membersOnly: true };

/** A record that says no more than an older version knows is one of its schema: that version may then share the store. */
export function encodeIdentity({ base, room, membersOnly, uid, ...marks }: IdentityRecord): Buffer {
  const known = { ...(base === 0 ? {} : { base }), ...marks };
  const more = { ...known, ...(room === 1 ? {} : { room }), ...(membersOnly && { membersOnly }) };
  const old = room > 1 ? 3 : Object.keys(known).length > 0 ? 2 : 1;
  return Buffer.from(JSON.stringify({ schema: membersOnly ? SCHEMA : old, uid, ...more }));
}

/** Throws `Unreadable` when it is no identity, or one of a newer version. */
export function parseIdentity({ value }: Pick<KeyPair, 'value'>, layout: Layout): IdentityRecord {
  const parsed = parsedJson(value.toString());
  const record = isObject(parsed) ? parsed : {};
  const { schema, uid, base, room, membersOnly, origin, unfinished, moved } = record;
  if (typeof schema !== 'number' || typeof uid !== 'string')
    throw new StoreError('Unreadable', `what etcd holds at ${layout.root}/meta is not the identity of a store`);
  if (schema > SCHEMA) {
    const message = `the store under ${layout.root} in etcd has schema ${schema}; this version knows ${SCHEMA}`;
    throw new StoreError('Unreadable', `${message}: run a newer one`);
  }
  return {
    uid,
    base: typeof base === 'number' ? base : 0,
    room: typeof room === 'number' ? room : 1,
    ...(membersOnly === true ? { membersOnly } : {}),
    ...(isOrigin(origin) ? { origin } : {}),
    ...(unfinished === true ? { unfinished } : {}),
    ...(isMoveMark(moved) ? { moved } : {}),
  };
}

function isOrigin(value: unknown): value is StoreOrigin {
  return (
    isObject(value) &&
    typeof value.uid === 'string' &&
    typeof value.revision === 'number' &&
    typeof value.takenAt === 'string'
  );
}

function isMoveMark(value: unknown): value is MoveMark {
  return isObject(value) && typeof value.to === 'string' && typeof value.at === 'string';
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
