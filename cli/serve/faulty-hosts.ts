import { FaultsError } from '../../nodelet/drivers/sim/faults/faults-error.ts';
import type { FaultsFile } from '../../nodelet/drivers/sim/faults/faults-file.ts';
import { Failure } from '../failure.ts';

/** Throws a `Failure` where faults are for hosts that are none of these. */
export function checkFaultyHosts(faults: FaultsFile | undefined, names: readonly string[]): void {
  orFailure(() => faults?.checkHosts(names));
}

/** Makes a `Failure` of faults that are none. */
export function orFailure<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof FaultsError)) throw error;
    throw new Failure(`--faults: ${error.message}`, { hint: FAULTS_HINT, cause: error });
  }
}

export const FAULTS_HINT = 'docs/simulator.md tells what a file of faults may hold';
