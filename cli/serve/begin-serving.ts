import type { Clock } from '../../resources/ambient/clock.ts';
import type { Logger } from '../../resources/ambient/log.ts';
import type { Io } from '../io.ts';
import { type Home, openHome } from './home.ts';
import { lockHome } from './lock-home.ts';
import { openLog } from './open-log.ts';
import { Steps } from './steps.ts';

/** What a process has from its beginning that serves from a home. */
export interface Begun {
  readonly home: Home;
  readonly steps: Steps;
  readonly log: Logger;
  /** Says that all is up, and how long that took. */
  sayUp(): void;
}

/** Opens a home, which no other process has until `held` is disposed. Throws a `Failure` when it cannot. */
export async function beginServing(
  { home: path }: { readonly home: string },
  io: Io,
  clock: Clock,
  held: AsyncDisposableStack,
): Promise<Begun> {
  const beganMs = clock.monotonic();
  const steps = new Steps(io, clock);
  const home = openHome(path);
  held.use(await lockHome(home));
  const log = openLog(home, io, held);
  const sayUp = () => steps.say(`up in ${((clock.monotonic() - beganMs) / 1000).toFixed(1)} s\n`);
  return { home, steps, log, sayUp };
}
