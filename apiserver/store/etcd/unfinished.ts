import { type StoreBirth, StoreError, type UnfinishedStore } from '../store.ts';
import { EtcdConnection } from './connection.ts';
import { choose, findOrMake, type Identity, identityOf, readIdentityRecord } from './identity.ts';
import { encodeIdentity, type IdentityRecord, newRecord } from './identity-record.ts';
import { Layout } from './layout.ts';
import type { Fence } from './membership.ts';
import { DEFAULT_ROOT, openEtcdStoreAs } from './open-store.ts';
import { ROOM } from './revisions.ts';
import type { EtcdStoreOptions } from './store.ts';
import { readError } from './store-error.ts';

/**
 * A store under a root of etcd that says it is not complete until it is finished. The root must be empty, or hold such a store, which is removed
 * first. StoreError `Unreadable` when it holds anything else. Of two that fill one root at a time the first is `lost`.
 */
export async function openUnfinishedEtcd(options: EtcdStoreOptions, birth: StoreBirth): Promise<UnfinishedStore> {
  const { origin } = birth;
  const began = { uid: birth.uid, base: birth.revision, room: options.room ?? ROOM };
  const record = newRecord({ ...began, ...(origin && { origin }) });
  const store = await openEtcdStoreAs(options, async (connection, layout) => {
    await removeUnfinished(connection, layout);
    return make(connection, layout, { ...record, unfinished: true });
  });
  return {
    store,
    async finish() {
      await store[Symbol.asyncDispose]();
      await finishIdentity(options, record);
    },
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

/** Whether there is a whole store, one that is not complete, or nothing under the root. */
export async function whatIsInEtcd(options: EtcdStoreOptions): Promise<IdentityRecord | undefined> {
  return withEtcd(options, async (connection, layout) => (await readIdentityRecord(connection, layout))?.record);
}

/** A short talk with etcd about a root. Its failures are StoreErrors. */
export async function withEtcd<T>(
  options: EtcdStoreOptions,
  work: (connection: EtcdConnection, layout: Layout) => Promise<T>,
): Promise<T> {
  const connection = new EtcdConnection(options);
  try {
    return await work(connection, new Layout(options.root ?? DEFAULT_ROOT));
  } catch (error) {
    throw readError(error);
  } finally {
    connection.close(new StoreError('Closed', 'done'));
  }
}

async function make(connection: EtcdConnection, layout: Layout, record: IdentityRecord): Promise<Identity> {
  const found = await findOrMake(connection, layout, record);
  if (found.record.uid !== record.uid || found.record.unfinished !== true)
    throw new StoreError('Unreadable', `somebody else made a store under ${layout.root} in etcd just now`);
  return identityOf(found.answer, found.record);
}

/** Removes what an earlier try left; refuses a whole store. */
async function removeUnfinished(connection: EtcdConnection, layout: Layout): Promise<void> {
  const found = await readIdentityRecord(connection, layout);
  if (found === undefined) return;
  if (found.record.unfinished !== true)
    throw new StoreError('Unreadable', `there is a store under ${layout.root} in etcd already, ${found.record.uid}`);
  // Only while it is still that one: another may have been finished since.
  const when = [{ key: layout.meta, modRevision: found.modRevision }];
  await choose(connection, { when, whenMet: [{ remove: layout.everything }], otherwise: [] });
}

async function finishIdentity(options: EtcdStoreOptions, record: IdentityRecord): Promise<void> {
  await withEtcd(options, async (connection, layout) => {
    const found = await readIdentityRecord(connection, layout);
    if (found?.record.uid !== record.uid)
      throw new StoreError('Unreadable', `etcd no longer holds the store ${record.uid} under ${layout.root}`);
    if (found.record.unfinished !== true) return;
    await replaceIdentity(connection, layout, found.modRevision, record);
  });
}

/** Writes another identity in the place of one that was read, as a member where there are such. Trying again after an answer was lost changes nothing. */
export async function replaceIdentity(
  connection: EtcdConnection,
  layout: Layout,
  modRevision: number,
  record: IdentityRecord,
  fence?: Fence,
): Promise<void> {
  const value = encodeIdentity(record);
  const answer = await choose(connection, {
    when: [{ key: layout.meta, modRevision }, ...(fence === undefined ? [] : [fence])],
    whenMet: [{ put: { key: layout.meta, value } }],
    otherwise: [{ range: { keys: layout.meta } }],
  });
  if (answer.met) return;
  const [there] = answer.answers[0]?.pairs ?? [];
  if (there === undefined || !there.value.equals(value))
    throw new StoreError('Unreadable', `somebody else changed the identity under ${layout.root} in etcd`);
}
