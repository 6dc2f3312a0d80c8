import { BenchClient } from './bench-client.ts';
import { CoppiceUp } from './coppice-up.ts';
import { FILLED_OBJECTS, fillStore } from './filled-store.ts';
import type { BenchWorld, Goal } from './goal.ts';
import { atMost, type Contest } from './harness.ts';
import { makeServerFolder, startServerProcess } from './server-process.ts';

const SIMULATED = ['--driver', 'sim', '--hosts', '1', '--no-quickstart'];

/** Goal 10: from starting the process to the first answer of /readyz. The control is a process that does nothing but listen. */
export const coldStart: Goal = {
  names: ['10', 'cold-start'],
  async open(world) {
    const [plain, empty, filled] = await Promise.all(
      ['cold-plain', 'cold-empty', 'cold-filled'].map((name) => makeServerFolder(world, name)),
    );
    await fillStore(world, filled as string);
    const control = { title: 'bare node:https', take: () => ready(world, 'plain-server-process.ts', plain as string) };
    const alone = (title: string, folder: string): Omit<Contest, 'must' | 'great'> => ({
      goal: '10',
      title: `API server to /readyz, ${title}`,
      unit: 'ms',
      ours: () => ready(world, 'api-server-process.ts', folder),
      control,
    });
    const contests: Contest[] = [
      { ...alone('empty', empty as string), must: atMost(600, 'ms'), great: atMost(300, 'ms') },
      {
        ...alone(`${FILLED_OBJECTS} objects`, filled as string),
        must: atMost(1000, 'ms'),
        great: atMost(400, 'ms'),
      },
      {
        goal: '10',
        title: 'coppice up to /readyz, one simulated host',
        unit: 'ms',
        ours: () => upReady(world),
        control,
      },
    ];
    // The first start after a change compiles, and the store is made.
    for (const { ours } of contests) await ours(-1);
    return contests;
  },
};

async function ready(
  world: BenchWorld,
  program: 'api-server-process.ts' | 'plain-server-process.ts',
  folder: string,
): Promise<number> {
  const began = world.clock.monotonic();
  await using server = await startServerProcess(world, program, folder);
  using client = new BenchClient(server, 1);
  await client.send('GET', '/readyz');
  return world.clock.monotonic() - began;
}

async function upReady(world: BenchWorld): Promise<number> {
  const began = world.clock.monotonic();
  await using up = await CoppiceUp.start(world, 'cold-up', SIMULATED, /API server on/);
  using client = new BenchClient(up.server(), 1);
  await client.send('GET', '/readyz');
  return world.clock.monotonic() - began;
}
