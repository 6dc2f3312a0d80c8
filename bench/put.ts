import { type Backend, backends } from './backend.ts';
import { BareConnection } from './bare-connection.ts';
import { closedLoopRate } from './bench-client.ts';
import { FILLED_OBJECTS } from './filled-store.ts';
import { type BenchWorld, type Goal, NotMeasured } from './goal.ts';
import { type Contest, controlPlus, median, ratioAtLeast } from './harness.ts';
import { anImage, IMAGES_PATH, imageName } from './images.ts';
import { RawEtcd } from './raw-etcd.ts';
import { makeServerFolder, type ServerAddress, type ServerProcess, startServerProcess } from './server-process.ts';

const OPERATIONS = 2000;
/** Of ours and of the control each, before the first round. */
const WARM_UP_OPERATIONS = 20_000;
const WARM_UP_CLIENTS = 64;
const COLD_CLIENTS = 16;
/** So that no two contests write to the same objects. */
const APART = 100;
const VALUE_BYTES = 2048;
const MARKS = {
  file: { goal: '1', must: ratioAtLeast(0.6), great: ratioAtLeast(1) },
  etcd: { goal: '2', must: ratioAtLeast(0.5), great: ratioAtLeast(0.75) },
} as const;

/**
 * Goals 1 and 2: durable PUT over HTTPS to a server with 10,000 objects, against the same values put into etcd by its own client. Both have done
 * 20,000 writes before: what is held against each other is what they do all day. What a server does right after its start stands beside it.
 */
export const put: Goal = {
  names: ['1', '2', 'put'],
  async open(world, held) {
    const etcd = await world.etcd();
    if (etcd === undefined) throw new NotMeasured('etcd is not installed, and is what a PUT is held against');
    const raw = held.use(new RawEtcd(etcd, world.clock));
    const contests: Contest[] = [];
    for (const backend of await backends(world, 'put')) {
      contests.push(coldContest(backend, world), ...(await contestsOn(backend, raw, world, held)));
    }
    return contests;
  },
};

async function contestsOn(backend: Backend, raw: RawEtcd, world: BenchWorld, held: AsyncDisposableStack) {
  const folder = await makeServerFolder(world, `put-${backend.kind}`);
  const server = held.use(await startServerProcess(world, 'api-server-process.ts', folder, backend.args));
  await fill(server, world);
  using warming = await Writers.open(server, { clients: WARM_UP_CLIENTS, first: 0 });
  await warming.put(WARM_UP_OPERATIONS, world);
  await raw.write({ writers: WARM_UP_CLIENTS, operations: WARM_UP_OPERATIONS, valueBytes: VALUE_BYTES });
  const contestOf = async (clients: number) => {
    const writers = held.use(await Writers.open(server, { clients, first: clients * APART }));
    return {
      ours: (operations: number) => writers.put(operations, world),
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

/** The first PUTs of a server's life, whose code is not compiled yet. */
function coldContest(backend: Backend, world: BenchWorld): Contest {
  return {
    goal: MARKS[backend.kind].goal,
    title: `the first ${OPERATIONS} PUTs after a start, ${COLD_CLIENTS} clients${backend.suffix}`,
    unit: '/s',
    async ours(round) {
      const folder = await makeServerFolder(world, `put-cold-${backend.kind}-${round}`);
      const args = backend.args.map((arg, i) => (i === 1 ? `${arg}-cold-${round}` : arg));
      await using server = await startServerProcess(world, 'api-server-process.ts', folder, args);
      using connection = await BareConnection.open(server);
      for (let i = 0; i < COLD_CLIENTS; i++) await connection.send('POST', IMAGES_PATH, JSON.stringify(anImage(i)));
      using writers = await Writers.open(server, { clients: COLD_CLIENTS, first: 0 });
      return (await writers.put(OPERATIONS, world)).rate;
    },
  };
}

async function fill(server: ServerProcess, { clock }: BenchWorld): Promise<void> {
  using connections = await openAll(server, WARM_UP_CLIENTS);
  const load = { clients: WARM_UP_CLIENTS, operations: FILLED_OBJECTS, now: () => clock.monotonic() };
  await closedLoopRate(load, (i, operation) =>
    connections.at(i).send('POST', IMAGES_PATH, JSON.stringify(anImage(operation))),
  );
}

interface Writing {
  readonly clients: number;
  /** The number of the first client's object. */
  readonly first: number;
}

/** Clients with an object each. Every write carries the revision of the one before, so each is a compare. */
class Writers implements Disposable {
  readonly #connections: Connections;
  readonly #objects: Buffer[];

  private constructor(connections: Connections, objects: Buffer[]) {
    this.#connections = connections;
    this.#objects = objects;
  }

  static async open(server: ServerAddress, { clients, first }: Writing): Promise<Writers> {
    const connections = await openAll(server, clients);
    const read = (i: number) => connections.at(i).send('GET', `${IMAGES_PATH}/${imageName(first + i)}`, '');
    return new Writers(connections, await Promise.all(Array.from({ length: clients }, (_, i) => read(i))));
  }

  /** How many were done a second, and how long each took, in milliseconds. */
  async put(operations: number, { clock }: BenchWorld): Promise<{ rate: number; times: readonly number[] }> {
    const objects = this.#objects;
    const times: number[] = [];
    const load = { clients: objects.length, operations, now: () => clock.monotonic() };
    const rate = await closedLoopRate(load, async (i, operation) => {
      const object = JSON.parse(String(objects[i]));
      object.spec.displayName = `Image ${operation}`;
      const path = `${IMAGES_PATH}/${object.metadata.name}`;
      const sent = clock.monotonic();
      objects[i] = await this.#connections.at(i).send('PUT', path, JSON.stringify(object));
      times.push(clock.monotonic() - sent);
    });
    return { rate, times };
  }

  [Symbol.dispose](): void {
    this.#connections[Symbol.dispose]();
  }
}

interface Connections extends Disposable {
  at(index: number): BareConnection;
}

async function openAll(server: ServerAddress, count: number): Promise<Connections> {
  const all = await Promise.all(Array.from({ length: count }, () => BareConnection.open(server)));
  return {
    at(index) {
      const connection = all[index];
      if (connection === undefined) throw new RangeError(`there is no connection ${index}`);
      return connection;
    },
    [Symbol.dispose]() {
      for (const connection of all) connection[Symbol.dispose]();
    },
  };
}
