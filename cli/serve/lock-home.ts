import { machineProcesses } from '../../nodelet/drivers/qemu/machine-processes.ts';
import { systemClock } from '../../resources/ambient/system-clock.ts';
import { type Home, startFailure } from './home.ts';
import { takeLock } from './lock.ts';

/** Takes a home for this process. Throws a `Failure` when another has it, or it cannot be written to. */
export async function lockHome(home: Home): Promise<Disposable> {
  const clock = systemClock;
  try {
    return await takeLock(home.lock, { processes: machineProcesses(clock), pid: process.pid, clock });
  } catch (error) {
    throw startFailure(error, home.path);
  }
}
