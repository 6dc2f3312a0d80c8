import type { StoreError } from '../../apiserver/store/store.ts';
import { Failure } from '../failure.ts';

/** The store was lost: what was not acknowledged may or may not have happened. */
export const EXIT_STORE_LOST = 70;

/**
 * Runs `work` with a signal that aborts when the given one does or when the store is lost. Then that loss is what is thrown, as a `Failure` with exit
 * code 70, whatever else came of the work.
 */
export async function whileStoreLives(
  lost: Promise<StoreError>,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const ending = new AbortController();
  let loss: Failure | undefined;
  void lost.then((error) => {
    loss = new Failure(error.message, { exitCode: EXIT_STORE_LOST, cause: error });
    ending.abort(loss);
  });
  try {
    await work(AbortSignal.any([signal, ending.signal]));
  } catch (error) {
    // Requests fail with the store, and may tell of it before it does itself.
    await new Promise<void>((resolve) => setImmediate(resolve));
    throw loss ?? error;
  }
  if (loss !== undefined) throw loss;
}
