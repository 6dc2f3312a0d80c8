import type { Backend } from './backend.ts';
import { BenchClient } from './bench-client.ts';
import { FILLED_OBJECTS, filledBackends, fillStore } from './filled-store.ts';
import type { BenchWorld, Goal } from './goal.ts';
import { atMost, type Contest, percentile } from './harness.ts';
import { IMAGES_PATH, imageName } from './images.ts';
import { openLoop } from './open-loop.ts';
import { makeServerFolder, type ServerProcess, startServerProcess } from './server-process.ts';

const LISTS = 10;
const WATCHERS = 1000;
const WRITES_A_SECOND = 500;
const MIXED_A_SECOND = 500;
const MIXED_SECONDS = 10;
/** Until the server has compiled what it does most: nobody's users meet it as it was just started. */
const WARM_SECONDS = 2;
const CONNECTIONS = 64;
const MIB = 1024 * 1024;

/** Goals 6, 11 and 14: what a server with 10,000 objects is like when much is asked of it at once. */
export const underLoad: Goal = {
  names: ['6', '11', '14', 'under-load'],
  async open(world) {
    const stores = await filledBackends(world);
    return stores.flatMap((backend) => contestsOn(backend, world));
  },
};

/** Each figure is of a process of its own, so that none is taken of what another left behind. */
function contestsOn(backend: Backend, world: BenchWorld): readonly Contest[] {
  const onServer = (take: (server: ServerProcess, world: BenchWorld) => Promise<number>) => async () => {
    const folder = await makeServerFolder(world, `load-${backend.kind}`);
    await fillStore(world, folder, backend);
    await using server = await startServerProcess(world, 'api-server-process.ts', folder, backend.args);
    // Awaited here: the server ends with this function.
    return await take(server, world);
  };
  return [
    {
      goal: '6',
      title: `event loop, p99, ${LISTS} LISTs of ${FILLED_OBJECTS} and ${WRITES_A_SECOND} writes/s${backend.suffix}`,
      unit: 'ms',
      ours: onServer(loopDelay),
      must: atMost(50, 'ms'),
      great: atMost(15, 'ms'),
    },
    {
      goal: '11',
      title: `RSS, ${FILLED_OBJECTS} objects, ${WATCHERS} watchers, after ${LISTS} LISTs${backend.suffix}`,
      unit: 'MiB',
      ours: onServer(memory),
      must: atMost(500, 'MiB'),
      great: atMost(300, 'MiB'),
    },
    {
      goal: '14',
      title: `p99 of GET and PATCH, ${MIXED_A_SECOND}/s mixed, ${FILLED_OBJECTS} objects${backend.suffix}`,
      unit: 'ms',
      ours: onServer(mixedP99),
      must: atMost(100, 'ms'),
      great: atMost(25, 'ms'),
    },
  ];
}

async function loopDelay(server: ServerProcess, { clock, signal }: BenchWorld): Promise<number> {
  using writer = new BenchClient(server, CONNECTIONS);
  using reader = new BenchClient(server, 1);
  const ending = new AbortController();
  const load = { perSecond: WRITES_A_SECOND, seconds: 60, clock, signal: AbortSignal.any([signal, ending.signal]) };
  const write = (i: number) => ({ kind: 'write', done: patch(writer, i) });
  await reader.send('GET', IMAGES_PATH);
  await openLoop({ ...load, seconds: WARM_SECONDS }, (i) => write(-i));
  await server.reset();
  const writing = openLoop(load, write);
  const reading = async () => {
    try {
      for (let i = 0; i < LISTS; i++) await reader.send('GET', IMAGES_PATH);
      return (await server.stats()).loopDelayP99Ms;
    } finally {
      ending.abort();
    }
  };
  const [loopDelayP99Ms] = await Promise.all([reading(), writing]);
  return loopDelayP99Ms;
}

async function memory(server: ServerProcess): Promise<number> {
  using client = new BenchClient(server, 1);
  const { metadata } = JSON.parse(String(await client.send('GET', `${IMAGES_PATH}/${imageName(0)}`)));
  const path = `${IMAGES_PATH}?watch=true&resourceVersion=${metadata.resourceVersion}`;
  const closers: (() => void)[] = [];
  try {
    for (let opened = 0; opened < WATCHERS; opened += 50)
      closers.push(...(await Promise.all(Array.from({ length: 50 }, () => client.watch(path, () => {})))));
    for (let i = 0; i < LISTS; i++) await client.send('GET', IMAGES_PATH);
    return (await server.stats()).rssBytes / MIB;
  } finally {
    for (const close of closers) close();
  }
}

/** The worse of the two kinds. Every third request writes; none meets another at the same object. */
async function mixedP99(server: ServerProcess, { clock, signal }: BenchWorld): Promise<number> {
  using client = new BenchClient(server, CONNECTIONS);
  const load = { perSecond: MIXED_A_SECOND, seconds: MIXED_SECONDS, clock, signal };
  const mixed = (i: number) =>
    i % 3 === 0
      ? { kind: 'PATCH', done: patch(client, i) }
      : { kind: 'GET', done: client.send('GET', `${IMAGES_PATH}/${nameOf(i)}`) };
  await openLoop({ ...load, seconds: WARM_SECONDS }, (i) => mixed(-i));
  const times = await openLoop(load, mixed);
  return Math.max(...[...times.values()].map((taken) => percentile(taken, 0.99)));
}

function patch(client: BenchClient, i: number): Promise<unknown> {
  const body = JSON.stringify({ spec: { displayName: `write ${i}` } });
  return client.send('PATCH', `${IMAGES_PATH}/${nameOf(i)}`, body);
}

/** Spreads requests over the objects without an order. */
const nameOf = (i: number) => imageName((Math.abs(i) * 7919) % FILLED_OBJECTS);
