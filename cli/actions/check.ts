import { type CheckFigures, FleetCheck } from '../../apiserver/client/cut/fleet-check.ts';
import { systemClock } from '../../resources/ambient/system-clock.ts';
import { ApiError } from '../../resources/meta/api-error.ts';
import type { Target } from '../coppice-command.ts';
import { Exit, Failure, usage } from '../failure.ts';
import type { Io } from '../io.ts';
import { openSession } from '../session.ts';
import { Deadline, durationFlag } from '../wait/deadline.ts';
import { CheckPrinter } from './check-printer.ts';

interface CheckOptions {
  readonly once: boolean;
  /** As it was written; undefined: until it is interrupted. */
  readonly time: string | undefined;
  readonly json: boolean;
}

/** How long what was written last is waited for at the end. */
const CATCH_UP_MS = 10_000;

/** Judges the fleet, prints what is broken, and in the end what it came to. */
export async function check(io: Io, target: Target, options: CheckOptions): Promise<void> {
  if (options.once && options.time !== undefined) throw usage('--once and --for are not both', 'check');
  const forMs = options.time === undefined ? undefined : durationFlag('for', options.time);
  await using session = await openSession(io, target);
  const printer = new CheckPrinter(io, options.json);
  const { client } = session;
  const fleet = new FleetCheck({ client, clock: systemClock, random: Math.random, listener: printer });
  try {
    if (options.once) await fleet.once(io.signal);
    else await watch(fleet, io.signal, forMs);
  } catch (error) {
    throw notAllowed(error) ?? error;
  }
  if (fleet.figures.to === 0) io.signal.throwIfAborted();
  printer.summary(fleet.figures);
  if (failed(fleet.figures)) throw new Exit(1, { evenInterrupted: true });
}

/** Until the time is up or Ctrl-C. When the time is up everything that was written until then is judged. */
async function watch(fleet: FleetCheck, interrupted: AbortSignal, forMs: number | undefined): Promise<void> {
  using over = new Deadline(interrupted, forMs);
  const ending = new AbortController();
  const running = fleet.run(ending.signal);
  const timeUp = new Promise<void>((resolve) => {
    over.signal.addEventListener('abort', () => resolve(), { once: true });
    if (over.signal.aborted) resolve();
  });
  await Promise.race([timeUp, running]);
  if (over.passed) {
    using late = new Deadline(interrupted, CATCH_UP_MS);
    // The summary says how far it came.
    await fleet.caughtUp(late.signal).catch(() => {});
  }
  ending.abort();
  await running;
}

const failed = ({ violations }: CheckFigures) => violations > 0;

function notAllowed(error: unknown): Failure | undefined {
  if (!(error instanceof ApiError) || error.reason !== 'Forbidden') return undefined;
  return new Failure(`check looks at the whole fleet, which is for operators: ${error.message}`, {
    hint: "use an operator's credentials, with --kubeconfig or --context",
    cause: error,
  });
}
