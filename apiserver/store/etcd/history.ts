import type { Clock } from '../../../resources/ambient/clock.ts';
import type { Batch } from '../store.ts';
import { batchesAfter, type Source } from './batches.ts';
import { EtcdCallError } from './call-error.ts';
import type { RootWatch } from './root-watch.ts';

const WAIT_MS = 200;

/** Batches after a revision, up to one that the root watch has published, over a stream of its own and over outages. At its reader's pace. */
export async function* readHistory(
  { source, root, clock }: { readonly source: Source; readonly root: RootWatch; readonly clock: Clock },
  from: number,
  upTo: number,
  signal: AbortSignal,
): AsyncGenerator<Batch> {
  for (let position = from; position < upTo && !signal.aborted; ) {
    const pieces = batchesAfter(source, position, signal);
    try {
      for (let batches = await next(pieces, root); batches !== undefined; batches = await next(pieces, root)) {
        for (const batch of batches) {
          yield batch;
          position = batch.revision;
          if (position >= upTo) return;
        }
      }
    } catch (error) {
      if (!(error instanceof EtcdCallError)) throw error;
      await clock.sleep(WAIT_MS, signal).catch(() => {});
    } finally {
      await pieces.return(undefined);
    }
  }
}

/** While the reader waits, not while it is waited for, something must come down the watch: the last revision may be of somebody else's keys. */
async function next<T>(pieces: AsyncGenerator<T>, root: RootWatch): Promise<T | undefined> {
  using _ = root.keepMoving();
  return (await pieces.next()).value ?? undefined;
}
