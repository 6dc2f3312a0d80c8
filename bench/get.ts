import { type BareGets, BenchClient, closedLoopRate } from './bench-client.ts';
import type { Goal } from './goal.ts';
import { ratioAtLeast } from './harness.ts';
import { anImage, IMAGES_PATH, imageName } from './images.ts';
import { makeServerFolder, startServerProcess } from './server-process.ts';

const CLIENTS = 32;
const OPERATIONS = 10_000;

/** Goal 4: GET of one object, against bare node:https with the same bytes. */
export const get: Goal = {
  names: ['4', 'get'],
  async open(world, held) {
    const folder = await makeServerFolder(world, 'get');
    const ours = held.use(await startServerProcess(world, 'api-server-process.ts', folder));
    const plain = held.use(await startServerProcess(world, 'plain-server-process.ts', folder));
    const path = `${IMAGES_PATH}/${imageName(0)}`;
    const client = held.use(new BenchClient(ours, 1));
    await client.send('POST', IMAGES_PATH, JSON.stringify(anImage(0)));
    const control = held.use(new BenchClient(plain, 1));
    await control.send('PUT', path, await client.send('GET', path));
    const rateOf = async (from: BenchClient) => {
      const connections = await Promise.all(Array.from({ length: CLIENTS }, () => from.openGets(path)));
      const load = { clients: CLIENTS, operations: OPERATIONS, now: () => world.clock.monotonic() };
      const rate = await closedLoopRate(load, (i) => (connections[i] as BareGets).get());
      for (const connection of connections) connection[Symbol.dispose]();
      return rate;
    };
    return [
      {
        goal: '4',
        title: `GET one object, ${CLIENTS} clients`,
        unit: '/s',
        ours: () => rateOf(client),
        control: { title: 'bare node:https', take: () => rateOf(control) },
        must: ratioAtLeast(0.5),
        great: ratioAtLeast(0.75),
      },
    ];
  },
};
