import { type CheckFigures, FleetCheck } from '../../apiserver/client/cut/fleet-check.ts';
import type { Clock } from '../../resources/ambient/clock.ts';
import { signalUntil } from '../../resources/ambient/signal-until.ts';
import { INVARIANTS } from '../../resources/invariants/all-invariants.ts';
import type { Violation } from '../../resources/invariants/fleet-checker.ts';
import type { Random } from '../fuzz/random.ts';
import { FleetJournal } from './fleet-journal.ts';
import type { FleetProcesses } from './fleet-processes.ts';
import { FleetTally } from './fleet-tally.ts';
import { FleetWorkload } from './fleet-workload.ts';
import { plague } from './nemesis.ts';

interface FleetRunOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly durationMs: number;
  /** Told when faults begin and end, and what is broken as soon as it is. */
  readonly say?: (line: string) => void;
  /** Ends it early; what there was until then is judged. */
  readonly signal?: AbortSignal;
}

export interface FleetRunReport {
  readonly figures: CheckFigures;
  readonly violations: readonly Violation[];
  /** Whether all that was written was judged in the end. */
  readonly caughtUp: boolean;
  readonly seen: ReadonlyMap<string, number>;
  readonly lines: readonly string[];
  /** What became of the objects that violations name. */
  readonly journal: readonly string[];
}

/** Two who do things at once. */
const HANDS = 2;
const LONGEST_THINK_MS = 300;
/** A server that is halted answers nobody. */
const PATIENCE_MS = 5_000;
/** Processes start in seconds, and a fleet of which none is up does nothing that could be wrong. */
const LONGEST_REST_MS = 8_000;
/** After the last fault everything must work again within this. */
const RECOVERY_MS = 90_000;
/** What is tolerated for a heartbeat is seen when it lasts, as long as there is time for it. */
const QUIET_MS = 5_000;

/** Lets tenants do what the seed says while processes are killed and halted, with the check watching all the while. */
export async function runFleet(world: FleetProcesses, options: FleetRunOptions): Promise<FleetRunReport> {
  const { clock, random, durationMs, say = () => {} } = options;
  const [tally, journal] = [new FleetTally(), new FleetJournal()];
  const violations: Violation[] = [];
  const begun = Promise.withResolvers<void>();
  let breaks = 0;
  const check = new FleetCheck({
    client: world.client,
    clock,
    random: Math.random,
    invariants: [...INVARIANTS, tally, journal],
    listener: {
      begun: () => begun.resolve(),
      violation(violation) {
        violations.push(violation);
        say(`VIOLATION at revision ${violation.revision}: ${violation.invariant}: ${violation.message}`);
      },
      gap: ({ from, to, why }) => say(`not checked: revisions ${from} to ${to}: ${why}`),
      broke: () => breaks++,
    },
  });
  const workload = new FleetWorkload({ client: world.client, random: random.fork(), clock });
  await workload.furnish(AbortSignal.timeout(RECOVERY_MS));
  const ending = new AbortController();
  const checking = check.run(ending.signal);
  // From its first list on it goes on whatever happens.
  await Promise.race([begun.promise, checking]);
  const over = signalUntil(options.signal === undefined ? [] : [options.signal], {
    afterMs: durationMs,
    late: () => new Error('the time is up'),
    clock,
  });
  const working = Array.from({ length: HANDS }, () => work(workload, { clock, random: random.fork() }, over.signal));
  const faults = await plague(
    world,
    { clock, random: random.fork(), say, longestRestMs: LONGEST_REST_MS },
    over.signal,
  );
  await Promise.all(working);
  over.stop();
  const caughtUp = await inTheEnd(check, clock);
  ending.abort();
  await checking;
  const happened = [...faults].map(([name, count]) => `${name} ${count}`).join(', ');
  const lines = [...workload.lines(), tally.line(), `faults: ${happened || 'none'}; watches begun again ${breaks}`];
  return {
    figures: check.figures,
    violations,
    caughtUp,
    seen: tally.counts,
    lines,
    journal: journal.about(violations),
  };
}

async function work(
  workload: FleetWorkload,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await workload.step(AbortSignal.timeout(PATIENCE_MS));
    await clock.sleep(random.below(LONGEST_THINK_MS), signal).catch(() => {});
  }
}

/** All faults are over; whether all that was written is judged in time. */
async function inTheEnd(check: FleetCheck, clock: Clock): Promise<boolean> {
  const deadline = clock.monotonic() + RECOVERY_MS;
  await clock.sleep(QUIET_MS);
  while (clock.monotonic() < deadline) {
    try {
      await check.caughtUp(AbortSignal.timeout(Math.max(1, Math.min(10_000, deadline - clock.monotonic()))));
      return true;
    } catch {
      // The server is not there yet, or the watches are not.
      await clock.sleep(500);
    }
  }
  return false;
}

/** What a run came to, in lines for people. */
export function fleetLines({ figures, violations, caughtUp, lines, journal }: FleetRunReport): readonly string[] {
  const { judged, from, to, unseen, objects } = figures;
  return [
    `judged ${judged} changes, revisions ${from} to ${to}, ${unseen} not checked; ${objects} objects in the end`,
    ...lines,
    ...(caughtUp ? [] : ['NOT AVAILABLE AGAIN: what was written last could not be judged']),
    violations.length === 0 ? 'every promise was kept' : `${violations.length} VIOLATIONS`,
    ...violations.map(({ revision, invariant, message }) => `  revision ${revision}: ${invariant}: ${message}`),
    ...journal,
  ];
}
