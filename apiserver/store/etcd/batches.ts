import { compactedError } from '../log-store.ts';
import { type Batch, StoreError, type StoreEvent } from '../store.ts';
import { EtcdCallError } from './call-error.ts';
import type { EtcdConnection } from './connection.ts';
import { eventOf, type Layout } from './layout.ts';
import type { Revisions } from './revisions.ts';
import type { KeyEvent, WatchAnswer } from './watch-messages.ts';

export interface Source {
  readonly connection: EtcdConnection;
  readonly layout: Layout;
  readonly revisions: Revisions;
}

/**
 * Everything under the root after a revision, a batch for each of the store's, over one stream and until that fails; those that come together are
 * answered together. A batch without events is one that moved only what is the store's own, or the end of a revision of etcd's whose last transaction
 * wrote nothing. `heard` is told of each event of those, but of the identity: throws `Compacted` when history from there is gone and `Unreadable` when that was
 * touched.
 */
export async function* batchesAfter(
  source: Source,
  position: number,
  signal: AbortSignal,
  heard: (event: KeyEvent) => void = () => {},
): AsyncGenerator<readonly Batch[]> {
  const { connection, layout, revisions } = source;
  // From the position itself, which was seen already: etcd takes a start at the compacted revision, and may have dropped a deletion there.
  const span = { ...layout.everything, startRevision: revisions.theirs(position) };
  let batch: { readonly revision: number; readonly events: StoreEvent[] } | undefined;
  for await (const response of connection.watch(span, signal)) {
    if (response.canceled) throw cancelled(response, position, revisions);
    const batches: Batch[] = [];
    for (const event of response.events) {
      const { revision, value } = revisions.read(event);
      if (revision <= position) continue;
      if (batch?.revision !== revision) {
        if (batch !== undefined) batches.push(batch, ...restOf(batch, revision, revisions));
        batch = { revision, events: [] };
      }
      const key = layout.ours(event.key);
      if (key !== undefined) batch.events.push(eventOf(event, key, value));
      else if (event.key.equals(layout.meta)) throw touched(layout);
      else heard(event);
    }
    // A fragment may end in the middle of a transaction; whole responses hold whole transactions.
    if (!response.fragment && batch !== undefined) {
      batches.push(batch, ...restOf(batch, Number.POSITIVE_INFINITY, revisions));
      batch = undefined;
    }
    if (batches.length > 0) yield batches;
  }
}

/** What is left of etcd's revision behind a batch, when the next one is of another. */
function restOf({ revision }: Batch, next: number, revisions: Revisions): readonly Batch[] {
  const end = revisions.ours(revisions.theirs(revision));
  return revision < end && end < next ? [{ revision: end, events: [] }] : [];
}

function cancelled(response: WatchAnswer, position: number, revisions: Revisions): Error {
  if (response.compactRevision !== 0) return compactedError(position, revisions.ours(response.compactRevision));
  return new EtcdCallError('Refused', `etcd cancelled the watch: ${response.cancelReason || 'no reason given'}`);
}

function touched({ root }: Layout): StoreError {
  return new StoreError('Unreadable', `the identity of the store under ${root} in etcd was changed`);
}
