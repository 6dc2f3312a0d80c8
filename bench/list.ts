import type { Backend } from './backend.ts';
import { BenchClient } from './bench-client.ts';
import { FILLED_OBJECTS, filledBackends, fillStore } from './filled-store.ts';
import type { BenchWorld, Goal } from './goal.ts';
import { type Contest, median, ratioAtMost } from './harness.ts';
import { IMAGES_PATH } from './images.ts';
import { makeServerFolder, startServerProcess } from './server-process.ts';

const LISTS_A_ROUND = 5;

/** Goal 5: LIST of 10,000 objects to the last byte at the client, against bare node:https with the same bytes as one body. */
export const list: Goal = {
  names: ['5', 'list'],
  async open(world, held) {
    const stores = await filledBackends(world);
    return Promise.all(stores.map((backend) => contest(backend, world, held)));
  },
};

async function contest(backend: Backend, world: BenchWorld, held: AsyncDisposableStack): Promise<Contest> {
  const folder = await makeServerFolder(world, `list-${backend.kind}`);
  await fillStore(world, folder, backend);
  const ours = held.use(await startServerProcess(world, 'api-server-process.ts', folder, backend.args));
  const plain = held.use(await startServerProcess(world, 'plain-server-process.ts', folder));
  const client = held.use(new BenchClient(ours, 1));
  const control = held.use(new BenchClient(plain, 1));
  const body = await client.send('GET', IMAGES_PATH);
  await control.send('PUT', IMAGES_PATH, body);
  return {
    goal: '5',
    title: `LIST ${FILLED_OBJECTS} objects, ${(body.length / 1e6).toFixed(1)} MB${backend.suffix}`,
    unit: 'ms',
    ours: () => timeOf(client, world),
    control: { title: 'bare node:https', take: () => timeOf(control, world) },
    must: ratioAtMost(2.5),
    great: ratioAtMost(1.5),
  };
}

async function timeOf(from: BenchClient, { clock }: BenchWorld): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < LISTS_A_ROUND; i++) {
    const began = clock.monotonic();
    await from.send('GET', IMAGES_PATH);
    times.push(clock.monotonic() - began);
  }
  return median(times);
}
