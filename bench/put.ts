import { type Backend, backends } from './backend.ts';
import { BenchClient, closedLoopRate } from './bench-client.ts';
import { type BenchWorld, type Goal, NotMeasured } from './goal.ts';
import { type Contest, controlPlus, median, ratioAtLeast } from './harness.ts';
import { anImage, IMAGES_PATH } from './images.ts';
import { RawEtcd } from './raw-etcd.ts';
import { makeServerFolder, startServerProcess } from './server-process.ts';

const OPERATIONS = 2000;
const VALUE_BYTES = 2048;
const MARKS = {
  file: { goal: '1', must: ratioAtLeast(0.6), great: ratioAtLeast(1) },
  etcd: { goal: '2', must: ratioAtLeast(0.5), great: ratioAtLeast(0.75) },
} as const;

/** Goals 1 and 2: durable PUT over HTTPS, against the same values put into etcd by its own client. */
export const put: Goal = {
  names: ['1', '2', 'put'],
  async open(world, held) {
    const etcd = await world.etcd();
    if (etcd === undefined) throw new NotMeasured('etcd is not installed, and is what a PUT is held against');
    const raw = held.use(new RawEtcd(etcd, world.clock));
    const contests: Contest[] = [];
    for (const backend of await backends(world, 'put')) contests.push(...(await contestsOn(backend, raw, world, held)));
    return contests;
  },
};

async function contestsOn(backend: Backend, raw: RawEtcd, world: BenchWorld, held: AsyncDisposableStack) {
  const folder = await makeServerFolder(world, `put-${backend.kind}`);
  const server = held.use(await startServerProcess(world, 'api-server-process.ts', folder, backend.args));
  const contestOf = async (clients: number) => {
    const client = held.use(new BenchClient(server, clients));
    const objects = await createAll(client, clients);
    return {
      ours: (operations: number) => putAll(client, objects, operations, world),
      control: (operations: number) => raw.write({ writers: clients, operations, valueBytes: VALUE_BYTES }),
    };
  };
  const contests: Contest[] = [];
  for (const clients of [16, 64]) {
    const { ours, control } = await contestOf(clients);
    contests.push({
      ...MARKS[backend.kind],
      title: `durable PUT, ${clients} clients${backend.suffix}`,
      unit: '/s',
      ours: async () => (await ours(OPERATIONS)).rate,
      control: { title: 'raw etcd3 txn', take: async () => (await control(OPERATIONS)).rate },
    });
  }
  const { ours, control } = await contestOf(1);
  contests.push({
    goal: MARKS[backend.kind].goal,
    title: `durable PUT, 1 client, p50${backend.suffix}`,
    unit: 'ms',
    ours: async () => median((await ours(OPERATIONS / 4)).times),
    control: { title: 'raw etcd3 txn', take: async () => median((await control(OPERATIONS / 4)).times) },
    ...(backend.kind === 'etcd' ? { must: controlPlus(1.5), great: controlPlus(0.7) } : {}),
  });
  return contests;
}

/** One object a client. */
async function createAll(client: BenchClient, clients: number): Promise<Buffer[]> {
  const create = (i: number) => client.send('POST', IMAGES_PATH, JSON.stringify(anImage(clients * 1000 + i)));
  return Promise.all(Array.from({ length: clients }, (_, i) => create(i)));
}

/** Every write carries the revision of the one before, so each is a compare. */
async function putAll(client: BenchClient, objects: Buffer[], operations: number, { clock }: BenchWorld) {
  const times: number[] = [];
  const load = { clients: objects.length, operations, now: () => clock.monotonic() };
  const rate = await closedLoopRate(load, async (i, operation) => {
    const object = JSON.parse(String(objects[i]));
    object.spec.displayName = `Image ${operation}`;
    const sent = clock.monotonic();
    objects[i] = await client.send('PUT', `${IMAGES_PATH}/${object.metadata.name}`, JSON.stringify(object));
    times.push(clock.monotonic() - sent);
  });
  return { rate, times };
}
