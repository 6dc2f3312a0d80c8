import type { Clock } from '../../resources/ambient/clock.ts';
import type { Random } from '../fuzz/random.ts';
import type { ChaosWorld, Fault } from './chaos-world.ts';

const LONGEST_REST_MS = 1_500;
const LONGEST_FAULT_MS = 3_500;
const SHORTEST_MS = 50;
const HANDS = 2;

interface NemesisDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly say: (line: string) => void;
  /** Between two faults, for what takes longer to come back than a server. */
  readonly longestRestMs?: number;
}

/** Lets faults begin and end as the seed says, two at once at most, until the signal aborts. All have ended when this resolves; answers how often each was. */
export async function plague(
  world: ChaosWorld,
  deps: NemesisDeps,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, number>> {
  const busy = new Set<string>();
  const counts = new Map<string, number>();
  const hand = async () => {
    while (!signal.aborted) {
      await rest(deps, deps.longestRestMs ?? LONGEST_REST_MS, signal);
      const free = world.faults.filter(({ target }) => !busy.has(target));
      if (signal.aborted || free.length === 0) continue;
      const fault = deps.random.pick(free);
      busy.add(fault.target);
      counts.set(fault.name, (counts.get(fault.name) ?? 0) + 1);
      await suffer(fault, deps, signal);
      busy.delete(fault.target);
    }
  };
  await Promise.all(Array.from({ length: HANDS }, hand));
  return counts;
}

async function suffer(fault: Fault, deps: NemesisDeps, signal: AbortSignal): Promise<void> {
  deps.say(`${fault.name} ${fault.target}`);
  const end = await fault.begin(deps.random);
  await rest(deps, LONGEST_FAULT_MS, signal, fault.leastMs);
  await end();
  deps.say(`${fault.name} ${fault.target}: over`);
}

/** Waits for so long at least, and up to a while longer; not longer than the signal. */
async function rest(
  { clock, random }: NemesisDeps,
  mostMs: number,
  signal: AbortSignal,
  leastMs: number = SHORTEST_MS,
): Promise<void> {
  await clock.sleep(leastMs + random.below(mostMs), signal).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}
