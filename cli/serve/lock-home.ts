import { systemClock } from '../../resources/ambient/system-clock.ts';
import { hostProcesses } from './drivers.ts';
import { type Home, startFailure } from './home.ts';
import { takeLock } from './lock.ts';

/** Takes a home for this process. Throws a `Failure` when another has it, or it cannot be written to. */
export async function lockHome(home: Home): Promise<Disposable> {
  const clock = systemClock;
  try {
    return await takeLock(home.lock, { processes: hostProcesses(clock), pid: process.pid, clock });
  } catch (error) {
    throw startFailure(error, home.path);
  }
}
