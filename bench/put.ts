import { join } from 'node:path';
import { BenchClient, closedLoopRate } from './bench-client.ts';
import type { BenchWorld, Goal } from './goal.ts';
import type { Contest } from './harness.ts';
import { anImage, IMAGES_PATH } from './images.ts';
import { makeServerFolder, startServerProcess } from './server-process.ts';
import { rawSqliteRate } from './store.ts';

const OPERATIONS = 2000;
const VALUE_BYTES = 2048;

/** Goal 1: durable PUT over HTTPS. Its musts are set against etcd and kube-apiserver, which are not here; the control is the floor below us, SQLite itself. */
export const put: Goal = {
  names: ['1', 'put'],
  async open(world, held) {
    const folder = await makeServerFolder(world, 'put');
    const server = held.use(await startServerProcess(world, 'api-server-process.ts', folder));
    const contests: Contest[] = [];
    for (const clients of [16, 64]) {
      const client = held.use(new BenchClient(server, clients));
      const objects = await createAll(client, clients);
      contests.push({
        goal: '1',
        title: `durable PUT, ${clients} clients`,
        unit: '/s',
        ours: () => putRate(client, objects, world),
        control: { title: `raw SQLite, ${clients} a commit`, take: async (round) => raw(world, clients, round) },
      });
    }
    return contests;
  },
};

/** One object a client. */
async function createAll(client: BenchClient, clients: number): Promise<Buffer[]> {
  const create = (i: number) => client.send('POST', IMAGES_PATH, JSON.stringify(anImage(clients * 1000 + i)));
  return Promise.all(Array.from({ length: clients }, (_, i) => create(i)));
}

/** Every write carries the revision of the one before, so each is a compare. */
function putRate(client: BenchClient, objects: Buffer[], { clock }: BenchWorld): Promise<number> {
  const load = { clients: objects.length, operations: OPERATIONS, now: () => clock.monotonic() };
  return closedLoopRate(load, async (i, operation) => {
    const object = JSON.parse(String(objects[i]));
    object.spec.displayName = `Image ${operation}`;
    objects[i] = await client.send('PUT', `${IMAGES_PATH}/${object.metadata.name}`, JSON.stringify(object));
  });
}

function raw({ folder, clock }: BenchWorld, writers: number, round: number): number {
  const path = join(folder, `raw-put-${writers}-${round}-${clock.monotonic()}.db`);
  return rawSqliteRate({ path, writers, operations: OPERATIONS, keys: writers, valueBytes: VALUE_BYTES }, clock);
}
