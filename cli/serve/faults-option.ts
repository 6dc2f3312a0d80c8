import { parseFaults, type SimFault } from '../../nodelet/drivers/sim/faults.ts';
import { Failure } from '../failure.ts';

/** What `--faults` asks for. Throws a `Failure`. */
export function faultsOption(text: string | undefined): readonly SimFault[] {
  try {
    return parseFaults(text ?? '');
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new Failure(`--${error.message}`, { cause: error });
  }
}
