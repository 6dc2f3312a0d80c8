import { systemClock as clock } from '../../resources/ambient/system-clock.ts';
import { Random } from '../fuzz/random.ts';
import { FleetProcesses } from './fleet-processes.ts';
import { fleetLines, runFleet } from './run-fleet.ts';

interface FleetChaosWish {
  readonly minutes: number;
  readonly seed: number;
  readonly store: 'sqlite' | 'etcd';
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
}

/** `npm run chaos -- fleet`: a fleet of real processes under the check of its invariants; the exit code. */
export async function fleetChaos({ minutes, seed, store, say, signal }: FleetChaosWish): Promise<number> {
  const random = new Random(seed);
  await using world = await FleetProcesses.start({ store, seed });
  const report = await runFleet(world, { clock, random, durationMs: minutes * 60_000, say, signal });
  for (const line of fleetLines(report)) say(line);
  const failed = report.violations.length > 0 || !report.caughtUp;
  if (failed) say(`again: npm run chaos -- fleet --seed ${seed} --store ${store} --minutes ${minutes}`);
  return failed ? 1 : 0;
}
