import { type Backend, backends } from './backend.ts';
import { BenchClient } from './bench-client.ts';
import { CoppiceUp } from './coppice-up.ts';
import { FILLED_OBJECTS, filledBackends, fillStore } from './filled-store.ts';
import type { BenchWorld, Goal } from './goal.ts';
import { atMost, type Contest } from './harness.ts';
import { makeServerFolder, startServerProcess } from './server-process.ts';

const SIMULATED = ['--driver', 'sim', '--hosts', '1', '--no-quickstart'];

/** Goal 10: from starting the process to the first answer of /readyz. The control is a process that does nothing but listen. */
export const coldStart: Goal = {
  names: ['10', 'cold-start'],
  async open(world) {
    const plain = await makeServerFolder(world, 'cold-plain');
    const control = { title: 'bare node:https', take: () => ready(world, 'plain-server-process.ts', plain) };
    const contests: Contest[] = [];
    for (const backend of await backends(world, 'cold-empty')) {
      const folder = await makeServerFolder(world, `cold-empty-${backend.kind}`);
      contests.push({ ...alone('empty', folder, backend, world), must: atMost(600, 'ms'), great: atMost(300, 'ms') });
    }
    for (const backend of await filledBackends(world)) {
      const folder = await makeServerFolder(world, `cold-filled-${backend.kind}`);
      await fillStore(world, folder, backend);
      const filled = alone(`${FILLED_OBJECTS} objects`, folder, backend, world);
      contests.push({ ...filled, must: atMost(1000, 'ms'), great: atMost(400, 'ms') });
    }
    contests.push({
      goal: '10',
      title: 'coppice up to /readyz, one simulated host',
      unit: 'ms',
      ours: () => upReady(world),
    });
    // The first start after a change compiles, and the store is made.
    for (const { ours } of contests) await ours(-1);
    return contests.map((contest) => ({ ...contest, control }));
  },
};

function alone(what: string, folder: string, { suffix, args }: Backend, world: BenchWorld): Contest {
  return {
    goal: '10',
    title: `API server to /readyz, ${what}${suffix}`,
    unit: 'ms',
    ours: () => ready(world, 'api-server-process.ts', folder, args),
  };
}

async function ready(
  world: BenchWorld,
  program: 'api-server-process.ts' | 'plain-server-process.ts',
  folder: string,
  args: readonly string[] = [],
): Promise<number> {
  const began = world.clock.monotonic();
  await using server = await startServerProcess(world, program, folder, args);
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
