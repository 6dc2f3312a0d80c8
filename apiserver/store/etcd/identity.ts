import type { Ids } from '../../../resources/ambient/ids.ts';
import { StoreError, type StoreOrigin } from '../store.ts';
import { EtcdCallError } from './call-error.ts';
import { CHOICE_PATH, type Choice, type Chosen, decodeChoice, encodeChoice } from './choice-messages.ts';
import type { EtcdConnection } from './connection.ts';
import { encodeIdentity, type IdentityRecord, newRecord, parseIdentity } from './identity-record.ts';
import type { Layout } from './layout.ts';
import { decodeRange, encodeRange, RANGE_PATH } from './range-messages.ts';
import { Revisions } from './revisions.ts';

export interface Identity {
  readonly uid: string;
  readonly origin: StoreOrigin | undefined;
  readonly revisions: Revisions;
  /** History before this one is none of this store's: it was being filled. */
  readonly floor: number;
  /** The revision of the store when it was asked. */
  readonly revision: number;
  /** Whether only members write. */
  readonly membersOnly: boolean;
  /** etcd's, when the identity was written last. */
  readonly writtenAt: number;
}

/**
 * Reads the identity of the store, or makes it where the root is still empty. Trying that again changes nothing. Throws `Unreadable` for a store that
 * nobody may serve from: one that is not finished, or was moved away.
 */
export async function openIdentity(
  connection: EtcdConnection,
  layout: Layout,
  made: { readonly ids: Ids; readonly room: number },
): Promise<Identity> {
  const { answer, record } = await findOrMake(
    connection,
    layout,
    newRecord({ uid: made.ids.uid(), base: 0, room: made.room }),
  );
  refuseUnserved(record, layout);
  return identityOf(answer, record);
}

/** The identity of a store that is there. Throws `Unreadable` when there is none or it is unfinished; one that was moved away is read only when told. */
export async function existingIdentity(
  connection: EtcdConnection,
  layout: Layout,
  movedToo: boolean,
): Promise<Identity> {
  const { answer, record } = await findOrMake(connection, layout, undefined);
  if (record.unfinished || !movedToo) refuseUnserved(record, layout);
  return identityOf(answer, record);
}

/** What the identity says, and when it was written last; undefined where the root is empty. Throws `Unreadable` when there is something else. */
export async function readIdentityRecord(
  connection: EtcdConnection,
  layout: Layout,
): Promise<{ readonly record: IdentityRecord; readonly modRevision: number } | undefined> {
  const chosen = await choose(connection, {
    when: [],
    whenMet: [{ range: { keys: layout.everything, limit: 1, keysOnly: true } }, { range: { keys: layout.meta } }],
    otherwise: [],
  });
  const [any] = chosen.answers[0]?.pairs ?? [];
  if (any === undefined) return undefined;
  const meta = metaIn(chosen, layout);
  return { record: parseIdentity(meta, layout), modRevision: meta.modRevision };
}

/** Does the one thing or the other, in one step. Only what may be done twice. */
export async function choose(connection: EtcdConnection, choice: Choice, signal?: AbortSignal): Promise<Chosen> {
  return decodeChoice(await connection.ask(CHOICE_PATH, encodeChoice(choice), signal));
}

/** The answer that has the identity; where the root is still empty, the given one is made first. */
export async function findOrMake(
  connection: EtcdConnection,
  layout: Layout,
  made: IdentityRecord | undefined,
): Promise<Found> {
  const put = made === undefined ? [] : [{ put: { key: layout.meta, value: encodeIdentity(made) } }];
  const ask = { range: { keys: layout.meta } };
  const when = [{ absent: layout.everything }];
  const answer = await choose(connection, { when, whenMet: [...put, ask], otherwise: [ask] });
  if (answer.met && made === undefined)
    throw new StoreError('Unreadable', `there is no store under ${layout.root} in etcd`);
  const meta = metaIn(answer, layout);
  return { answer, record: parseIdentity(meta, layout) };
}

/** What makes an identity of what etcd answered. */
export function identityOf(answer: Chosen, record: IdentityRecord): Identity {
  const [meta] = answer.answers.at(-1)?.pairs ?? [];
  if (meta === undefined) throw new TypeError('an answer without the identity');
  const revisions = new Revisions({ theirs: meta.createRevision, ours: record.base, room: record.room });
  return {
    uid: record.uid,
    origin: record.origin,
    revisions,
    revision: revisions.ours(answer.revision),
    floor: revisions.ours(meta.modRevision),
    membersOnly: record.membersOnly === true,
    writtenAt: meta.modRevision,
  };
}

/** Asks for the identity again; throws `Unreadable` when it is another one, or when the data went back behind `revision`. */
export async function confirmIdentity(
  {
    connection,
    layout,
    uid,
    revisions,
  }: { connection: EtcdConnection; layout: Layout } & Pick<Identity, 'uid' | 'revisions'>,
  revision: number,
  signal: AbortSignal,
): Promise<number> {
  const answer = decodeRange(await connection.ask(RANGE_PATH, encodeRange({ keys: layout.meta }), signal));
  const [meta] = answer.pairs;
  const found = meta && parseIdentity(meta, layout);
  if (found?.uid !== uid || meta === undefined || revisions.ours(meta.createRevision) !== found.base)
    throw new StoreError('Unreadable', `etcd no longer holds the store ${uid} under ${layout.root}`);
  const now = revisions.ours(answer.revision);
  if (now < revision)
    throw new StoreError('Unreadable', `the data in etcd went back from revision ${revision} to ${now}`);
  return now;
}

/**
 * The oldest revision that can still be read. etcd tells nobody which that is, only whether a given one can be: found by halving, which is one
 * question for a store that was never compacted.
 */
export async function findCompacted(
  connection: EtcdConnection,
  layout: Layout,
  { revisions, revision, floor }: Identity,
): Promise<number> {
  const readable = async (at: number) => {
    const query = { keys: layout.meta, revision: at, keysOnly: true };
    try {
      await connection.ask(RANGE_PATH, encodeRange(query));
      return true;
    } catch (error) {
      if (error instanceof EtcdCallError && error.failure === 'Compacted') return false;
      throw error;
    }
  };
  let gone = revisions.theirs(floor);
  let there = revisions.theirs(revision);
  if (await readable(gone)) return floor;
  while (there - gone > 1) {
    const middle = Math.floor((gone + there) / 2);
    if (await readable(middle)) there = middle;
    else gone = middle;
  }
  return revisions.ours(there);
}

interface Found {
  readonly answer: Chosen;
  readonly record: IdentityRecord;
}

function metaIn({ answers }: Chosen, layout: Layout) {
  const meta = answers.at(-1)?.pairs[0];
  if (meta === undefined)
    throw new StoreError('Unreadable', `etcd has keys under ${layout.root}/ that are not those of a store`);
  return meta;
}

function refuseUnserved({ unfinished, moved }: IdentityRecord, layout: Layout): void {
  if (unfinished) throw unfinishedError(layout);
  if (moved === undefined) return;
  const message = `the store under ${layout.root} in etcd was moved to ${moved.to} on ${moved.at}`;
  throw new StoreError('Unreadable', `${message}: serve from there`);
}

function unfinishedError({ root }: Layout): StoreError {
  return new StoreError(
    'Unreadable',
    `the store under ${root} in etcd is not complete: a restore or a move into it was cut short; run that again`,
  );
}
