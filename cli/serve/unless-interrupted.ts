import { Failure } from '../failure.ts';
import { EXIT_STORE_LOST } from './while-store-lives.ts';

/**
 * Waits for what serves until the signal aborts. Ctrl-C while something was still starting is no failure: what was started has been stopped on the way out.
 * A store that was lost is one all the same.
 */
export async function unlessInterrupted(serving: Promise<void>, signal: AbortSignal): Promise<void> {
  try {
    await serving;
  } catch (error) {
    const lost = error instanceof Failure && error.exitCode === EXIT_STORE_LOST;
    if (lost || !signal.aborted) throw error;
  }
}
