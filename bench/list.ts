import { BenchClient } from './bench-client.ts';
import { FILLED_OBJECTS, fillStore } from './filled-store.ts';
import type { Goal } from './goal.ts';
import { median, ratioAtMost } from './harness.ts';
import { IMAGES_PATH } from './images.ts';
import { makeServerFolder, startServerProcess } from './server-process.ts';

const LISTS_A_ROUND = 5;

/** Goal 5: LIST of 10,000 objects to the last byte at the client, against bare node:https with the same bytes as one body. */
export const list: Goal = {
  names: ['5', 'list'],
  async open(world, held) {
    const folder = await makeServerFolder(world, 'list');
    await fillStore(world, folder);
    const ours = held.use(await startServerProcess(world, 'api-server-process.ts', folder));
    const plain = held.use(await startServerProcess(world, 'plain-server-process.ts', folder));
    const client = held.use(new BenchClient(ours, 1));
    const control = held.use(new BenchClient(plain, 1));
    const body = await client.send('GET', IMAGES_PATH);
    await control.send('PUT', IMAGES_PATH, body);
    const timeOf = async (from: BenchClient) => {
      const times: number[] = [];
      for (let i = 0; i < LISTS_A_ROUND; i++) {
        const began = world.clock.monotonic();
        await from.send('GET', IMAGES_PATH);
        times.push(world.clock.monotonic() - began);
      }
      return median(times);
    };
    return [
      {
        goal: '5',
        title: `LIST ${FILLED_OBJECTS} objects, ${(body.length / 1e6).toFixed(1)} MB`,
        unit: 'ms',
        ours: () => timeOf(client),
        control: { title: 'bare node:https', take: () => timeOf(control) },
        must: ratioAtMost(2.5),
        great: ratioAtMost(1.5),
      },
    ];
  },
};
