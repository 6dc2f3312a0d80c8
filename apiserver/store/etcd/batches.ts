import type { IWatchResponse } from 'etcd3/lib/rpc.js';
import { compactedError } from '../log-store.ts';
import { type Batch, StoreError, type StoreEvent } from '../store.ts';
import { EtcdCallError } from './call-error.ts';
import type { EtcdConnection } from './connection.ts';
import { eventOf, type Layout, type Revisions } from './layout.ts';

export interface Source {
  readonly connection: EtcdConnection;
  readonly layout: Layout;
  readonly revisions: Revisions;
}

/**
 * Everything under the root after a revision, a batch for each, over one stream and until that fails. A batch without events is one that moved
 * only what is the store's own. Throws `Compacted` when history from there is gone and `Unreadable` when the identity was touched.
 */
export async function* batchesAfter(source: Source, position: number, signal: AbortSignal): AsyncGenerator<Batch> {
  const { connection, layout, revisions } = source;
  // From the position itself, which was seen already: etcd takes a start at the compacted revision, and may have dropped a deletion there.
  const start_revision = revisions.theirs(position);
  const request = { create_request: { ...layout.everything, start_revision, fragment: true } };
  let batch: { readonly revision: number; readonly events: StoreEvent[] } | undefined;
  for await (const response of connection.watch(request, signal)) {
    if (response.canceled) throw cancelled(response, position, revisions);
    for (const event of response.events) {
      const revision = revisions.ours(event.kv.mod_revision);
      if (revision <= position) continue;
      if (batch !== undefined && batch.revision !== revision) yield batch;
      if (batch?.revision !== revision) batch = { revision, events: [] };
      const key = layout.ours(event.kv.key);
      if (key !== undefined) batch.events.push(eventOf(event, key));
      else if (event.kv.key.equals(layout.meta)) throw touched(layout);
    }
    // A fragment may end in the middle of a transaction; whole responses hold whole transactions.
    if (response.fragment || batch === undefined) continue;
    yield batch;
    batch = undefined;
  }
}

function cancelled(response: IWatchResponse, position: number, revisions: Revisions): Error {
  if (response.compact_revision !== '0') return compactedError(position, revisions.ours(response.compact_revision));
  return new EtcdCallError('Refused', `etcd cancelled the watch: ${response.cancel_reason || 'no reason given'}`);
}

function touched({ root }: Layout): StoreError {
  return new StoreError('Unreadable', `the identity of the store under ${root} in etcd was changed`);
}
