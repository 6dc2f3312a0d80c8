import {
  CustomObjectsApi,
  KubeConfig,
  type KubernetesListObject,
  type KubernetesObject,
  makeInformer,
  Watch,
} from '@kubernetes/client-node';
import type { Backend } from './backend.ts';
import { BenchClient } from './bench-client.ts';
import { FILLED_OBJECTS, filledBackends, fillStore } from './filled-store.ts';
import type { BenchWorld, Goal } from './goal.ts';
import { type Contest, ratioAtLeast, ratioAtMost } from './harness.ts';
import { IMAGES_PATH, imageName } from './images.ts';
import { makeServerFolder, type ServerAddress, startServerProcess } from './server-process.ts';

const EVENTS = 10_000;
const REPLAY_PATH = '/replay';

/** Goal 12: the informer of the JavaScript client, filled and kept up to date, against a stub that keeps the same bytes in memory. */
export const informer: Goal = {
  names: ['12', 'informer'],
  async open(world, held) {
    const stores = await filledBackends(world);
    const contests = await Promise.all(stores.map((backend) => contestsOn(backend, world, held)));
    return contests.flat();
  },
};

async function contestsOn(
  backend: Backend,
  world: BenchWorld,
  held: AsyncDisposableStack,
): Promise<readonly Contest[]> {
  const folder = await makeServerFolder(world, `informer-${backend.kind}`);
  await fillStore(world, folder, backend);
  const ours = held.use(await startServerProcess(world, 'api-server-process.ts', folder, backend.args));
  const stub = held.use(await startServerProcess(world, 'plain-server-process.ts', folder));
  using client = new BenchClient(ours, 8);
  using control = new BenchClient(stub, 1);
  const body = await client.send('GET', IMAGES_PATH);
  await control.send('PUT', IMAGES_PATH, body);
  const from = String(JSON.parse(String(body)).metadata.resourceVersion);
  const watchPath = `${IMAGES_PATH}?watch=true&resourceVersion=${from}`;
  await control.send('PUT', REPLAY_PATH, await recordEvents(client, watchPath));
  return [
    {
      goal: '12',
      title: `informer of client-node, first ${FILLED_OBJECTS} objects${backend.suffix}`,
      unit: 'ms',
      ours: () => fillTime(ours, world),
      control: { title: 'stub', take: () => fillTime(stub, world) },
      must: ratioAtMost(2),
      great: ratioAtMost(1.3),
    },
    {
      goal: '12',
      title: `watch of client-node, ${EVENTS} events behind${backend.suffix}`,
      unit: '/s',
      ours: () => eventRate(ours, IMAGES_PATH, from, world),
      control: { title: 'stub', take: () => eventRate(stub, REPLAY_PATH, from, world) },
      must: ratioAtLeast(0.2),
      great: ratioAtLeast(0.5),
    },
  ];
}

/** Writes until there are so many events, and gives them as a watch sends them. */
async function recordEvents(client: BenchClient, watchPath: string): Promise<Buffer> {
  let next = 0;
  const write = async () => {
    for (let i = next++; i < EVENTS; i = next++) {
      const body = JSON.stringify({ spec: { displayName: `event ${i}` } });
      await client.send('PATCH', `${IMAGES_PATH}/${imageName(i % FILLED_OBJECTS)}`, body);
    }
  };
  await Promise.all(Array.from({ length: 8 }, write));
  return client.record(watchPath, EVENTS);
}

function configOf({ port, ca, token }: ServerAddress): KubeConfig {
  const config = new KubeConfig();
  config.loadFromClusterAndUser(
    {
      name: 'bench',
      server: `https://127.0.0.1:${port}`,
      caData: Buffer.from(ca).toString('base64'),
      skipTLSVerify: false,
    },
    { name: 'bench', token },
  );
  return config;
}

async function fillTime(server: ServerAddress, { clock }: BenchWorld): Promise<number> {
  const config = configOf(server);
  const api = config.makeApiClient(CustomObjectsApi);
  const list = async () =>
    (await api.listClusterCustomObject({
      group: 'coppice.dev',
      version: 'v1',
      plural: 'images',
    })) as KubernetesListObject<KubernetesObject>;
  const kept = makeInformer(config, IMAGES_PATH, list);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let seen = 0;
  kept.on('add', () => {
    if (++seen === FILLED_OBJECTS) resolve();
  });
  kept.on('error', reject);
  const began = clock.monotonic();
  void kept.start().catch(reject);
  await promise;
  const taken = clock.monotonic() - began;
  await kept.stop();
  return taken;
}

async function eventRate(
  server: ServerAddress,
  path: string,
  resourceVersion: string,
  { clock }: BenchWorld,
): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let seen = 0;
  const began = clock.monotonic();
  const onEvent = () => {
    if (++seen === EVENTS) resolve();
  };
  const onEnd = (error: unknown) => {
    if (seen < EVENTS) reject(error ?? new Error(`the watch ended after ${seen} events`));
  };
  const watch = await new Watch(configOf(server)).watch(path, { resourceVersion }, onEvent, onEnd);
  await promise;
  const taken = clock.monotonic() - began;
  watch.abort();
  return (EVENTS * 1000) / taken;
}
