import type { Backend } from './backend.ts';
import { type BareGets, BenchClient, closedLoopRate } from './bench-client.ts';
import { filledBackends, fillStore } from './filled-store.ts';
import type { BenchWorld, Goal } from './goal.ts';
import { type Contest, ratioAtLeast } from './harness.ts';
import { IMAGES_PATH, imageName } from './images.ts';
import { makeServerFolder, type ServerProcess, startServerProcess } from './server-process.ts';

const CLIENTS = 32;
const OPERATIONS = 10_000;
/** Of ours and of the control each, before the first round. */
const WARM_UP_OPERATIONS = 20_000;

/** Goal 4: GET of one object of 10,000, against bare node:https with the same bytes. Both have answered 20,000 before. */
export const get: Goal = {
  names: ['4', 'get'],
  async open(world, held) {
    const plain = held.use(
      await startServerProcess(world, 'plain-server-process.ts', await makeServerFolder(world, 'get-plain')),
    );
    const contests: Contest[] = [];
    for (const backend of await filledBackends(world)) contests.push(await contest(backend, plain, world, held));
    return contests;
  },
};

async function contest(
  backend: Backend,
  plain: ServerProcess,
  world: BenchWorld,
  held: AsyncDisposableStack,
): Promise<Contest> {
  const { kind, suffix, args } = backend;
  const folder = await makeServerFolder(world, `get-${kind}`);
  await fillStore(world, folder, backend);
  const ours = held.use(await startServerProcess(world, 'api-server-process.ts', folder, args));
  const path = `${IMAGES_PATH}/${imageName(0)}`;
  const client = held.use(new BenchClient(ours, 1));
  const control = held.use(new BenchClient(plain, 1));
  await control.send('PUT', path, await client.send('GET', path));
  for (const one of [control, client]) await rateOf(one, path, world, WARM_UP_OPERATIONS);
  return {
    goal: '4',
    title: `GET one object, ${CLIENTS} clients${suffix}`,
    unit: '/s',
    ours: () => rateOf(client, path, world),
    control: { title: 'bare node:https', take: () => rateOf(control, path, world) },
    must: ratioAtLeast(0.5),
    great: ratioAtLeast(0.75),
  };
}

async function rateOf(
  from: BenchClient,
  path: string,
  { clock }: BenchWorld,
  operations = OPERATIONS,
): Promise<number> {
  const connections = await Promise.all(Array.from({ length: CLIENTS }, () => from.openGets(path)));
  const load = { clients: CLIENTS, operations, now: () => clock.monotonic() };
  const rate = await closedLoopRate(load, (i) => (connections[i] as BareGets).get());
  for (const connection of connections) connection[Symbol.dispose]();
  return rate;
}
