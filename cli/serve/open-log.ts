import { type Logger, lineLogger } from '../../resources/ambient/log.ts';
import { systemClock } from '../../resources/ambient/system-clock.ts';
import { type Io, warn } from '../io.ts';
import { type Home, startFailure } from './home.ts';
import { LogFile } from './log-file.ts';

/** The log of a home; errors are told on stderr too. Throws a `Failure` when it cannot be written to. */
export function openLog(home: Home, io: Io, held: AsyncDisposableStack): Logger {
  try {
    const file = held.use(new LogFile(home.log));
    return lineLogger(
      (line) => {
        file.write(line);
        if (/^\S+ error /.test(line)) warn(io, line);
      },
      () => systemClock.now(),
    );
  } catch (error) {
    throw startFailure(error, home.path);
  }
}
