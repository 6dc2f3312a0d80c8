import { type Backend, backends } from './backend.ts';
import { BenchClient } from './bench-client.ts';
import { countEncodings } from './count-encodings.ts';
import type { BenchWorld, Goal } from './goal.ts';
import { atMost, type Contest, exactly, median, percentile, ratioAtMost } from './harness.ts';
import { anImage, IMAGES_PATH, imageName } from './images.ts';
import { makeServerFolder, type ServerProcess, startServerProcess } from './server-process.ts';

const EVENTS_A_ROUND = 10;
const PATH = `${IMAGES_PATH}/${imageName(0)}`;

/** Goals 7 and 8: one write told to every watcher, from sending it to the client's receipt, against bare node:https that writes the same line. */
export const fanOut: Goal = {
  names: ['7', '8', 'fan-out'],
  async open(world, held) {
    const contests: Contest[] = [];
    for (const backend of await backends(world, 'fan-out')) {
      const [api, stub] = await serversOn(backend, world, held);
      contests.push(contest('8', 100, 'p99', api, stub, world), contest('7', 1000, 'last', api, stub, world));
    }
    const encodings: Contest = {
      goal: '8',
      title: 'encodings of an event, 100 watchers of one media type',
      unit: '',
      ours: () => countEncodings(100, world),
      must: exactly(1),
    };
    return [...contests, encodings];
  },
};

/** Ours on a store, and the stub that writes the same line. */
async function serversOn({ kind, suffix, args }: Backend, world: BenchWorld, held: AsyncDisposableStack) {
  const folder = await makeServerFolder(world, `fan-out-${kind}`);
  const ours = held.use(await startServerProcess(world, 'api-server-process.ts', folder, args));
  const plain = held.use(await startServerProcess(world, 'plain-server-process.ts', folder));
  using client = new BenchClient(ours, 1);
  const object = await client.send('POST', IMAGES_PATH, JSON.stringify(anImage(0)));
  let write = 0;
  const api: Server = {
    process: ours,
    suffix,
    async watchPath(from) {
      const { metadata } = JSON.parse(String(await from.send('GET', PATH)));
      const name = `fieldSelector=metadata.name%3D${imageName(0)}`;
      return `${IMAGES_PATH}?watch=true&resourceVersion=${metadata.resourceVersion}&${name}`;
    },
    emit: (from) => from.send('PATCH', PATH, JSON.stringify({ spec: { displayName: `write ${write++}` } })),
  };
  const line = Buffer.from(`{"type":"MODIFIED","object":${String(object)}}\n`);
  const stub: Server = {
    process: plain,
    suffix,
    watchPath: async () => '/events?watch=true',
    emit: (from) => from.send('POST', '/emit', line),
  };
  return [api, stub] as const;
}

interface Server {
  readonly process: ServerProcess;
  /** Of the titles of its contests. */
  readonly suffix: string;
  /** A watch of what comes from now on. */
  watchPath(from: BenchClient): Promise<string>;
  emit(from: BenchClient): Promise<unknown>;
}

function contest(
  goal: string,
  watchers: number,
  which: 'last' | 'p99',
  api: Server,
  stub: Server,
  world: BenchWorld,
): Contest {
  const take = (server: Server) => () => delay(server, watchers, which, world);
  return {
    goal,
    title: `one write to ${which === 'last' ? `the last of ${watchers} watchers, p50` : `${watchers} watchers, p99`}${api.suffix}`,
    unit: 'ms',
    ours: take(api),
    control: { title: 'bare stub', take: take(stub) },
    ...(which === 'last'
      ? { must: ratioAtMost(2), great: ratioAtMost(1.3) }
      : { must: atMost(25, 'ms'), great: atMost(12, 'ms') }),
  };
}

/** Opens the watches, lets one event after the other through all of them, and answers the wanted delay in ms. */
async function delay(server: Server, watchers: number, which: 'last' | 'p99', { clock }: BenchWorld): Promise<number> {
  using client = new BenchClient(server.process, 1);
  let delays: number[] = [];
  let sent = 0;
  let all = Promise.withResolvers<void>();
  const onLine = () => {
    delays.push(clock.monotonic() - sent);
    if (delays.length === watchers) all.resolve();
  };
  const path = await server.watchPath(client);
  const closers: (() => void)[] = [];
  for (let opened = 0; opened < watchers; opened += 50) {
    const some = Array.from({ length: Math.min(50, watchers - opened) }, () => client.watch(path, onLine));
    closers.push(...(await Promise.all(some)));
  }
  const [everyDelay, lasts]: [number[], number[]] = [[], []];
  try {
    for (let event = 0; event < EVENTS_A_ROUND; event++) {
      delays = [];
      all = Promise.withResolvers();
      sent = clock.monotonic();
      await Promise.all([server.emit(client), all.promise]);
      everyDelay.push(...delays);
      lasts.push(Math.max(...delays));
    }
  } finally {
    for (const close of closers) close();
  }
  return which === 'last' ? median(lasts) : percentile(everyDelay, 0.99);
}
