import type { IKeyValue, ITxnResponse } from 'etcd3/lib/rpc.js';
import type { Ids } from '../../../resources/ambient/ids.ts';
import { StoreError } from '../store.ts';
import { EtcdCallError } from './call-error.ts';
import type { EtcdConnection } from './connection.ts';
import { type Layout, Revisions } from './layout.ts';

/** What this code writes. A store with a greater number is refused. */
const SCHEMA = 1;

export interface Identity {
  readonly uid: string;
  readonly revisions: Revisions;
  /** The revision of the store when it was asked. */
  readonly revision: number;
}

/** Reads the identity of the store, or makes it where the root is still empty. Trying that again changes nothing. */
export async function openIdentity(connection: EtcdConnection, layout: Layout, ids: Ids): Promise<Identity> {
  const value = Buffer.from(JSON.stringify({ schema: SCHEMA, uid: ids.uid() }));
  const answer = await connection.read((kv, options) =>
    kv.txn(
      {
        // No key under the root was ever created: the compare covers all of them.
        compare: [{ ...layout.everything, target: 'Create', result: 'Equal', create_revision: 0 }],
        success: [{ request_put: { key: layout.meta, value } }, { request_range: { key: layout.meta } }],
        failure: [{ request_range: { key: layout.meta } }],
      },
      options,
    ),
  );
  return readIdentity(answer, layout);
}

/** Asks for the identity again; throws `Unreadable` when it is another one, or when the data went back behind `revision`. */
export async function confirmIdentity(
  { connection, layout, uid, revisions }: { connection: EtcdConnection; layout: Layout } & Omit<Identity, 'revision'>,
  revision: number,
  signal: AbortSignal,
): Promise<number> {
  const answer = await connection.read((kv, options) => kv.range({ key: layout.meta }, options), signal);
  const [meta] = answer.kvs;
  const found = meta && parseIdentity(meta, layout);
  if (found?.uid !== uid || meta === undefined || revisions.ours(meta.create_revision) !== 0)
    throw new StoreError('Unreadable', `etcd no longer holds the store ${uid} under ${layout.root}`);
  const now = revisions.ours(answer.header.revision);
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
  { revisions, revision }: Identity,
): Promise<number> {
  const readable = async (at: number) => {
    const query = { key: layout.meta, revision: revisions.theirs(at), keys_only: true };
    try {
      await connection.read((kv, options) => kv.range(query, options));
      return true;
    } catch (error) {
      if (error instanceof EtcdCallError && error.failure === 'Compacted') return false;
      throw error;
    }
  };
  if (await readable(0)) return 0;
  let gone = 0;
  let there = revision;
  while (there - gone > 1) {
    const middle = Math.floor((gone + there) / 2);
    if (await readable(middle)) there = middle;
    else gone = middle;
  }
  return there;
}

function readIdentity({ header, responses }: ITxnResponse, layout: Layout): Identity {
  const meta = responses.at(-1)?.response_range.kvs[0];
  if (meta === undefined)
    throw new StoreError('Unreadable', `etcd has keys under ${layout.root}/ that are not those of a store`);
  const { uid } = parseIdentity(meta, layout);
  const revisions = new Revisions(Number(meta.create_revision));
  return { uid, revisions, revision: revisions.ours(header.revision) };
}

function parseIdentity({ value }: IKeyValue, layout: Layout): { readonly uid: string } {
  const parsed = parsedJson(value.toString());
  const { schema, uid } = typeof parsed === 'object' && parsed !== null ? (parsed as Record<string, unknown>) : {};
  if (typeof schema !== 'number' || typeof uid !== 'string')
    throw new StoreError('Unreadable', `what etcd holds at ${layout.root}/meta is not the identity of a store`);
  if (schema > SCHEMA) {
    const message = `the store under ${layout.root} in etcd has schema ${schema}; this version knows ${SCHEMA}`;
    throw new StoreError('Unreadable', `${message}: run a newer one`);
  }
  return { uid };
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
