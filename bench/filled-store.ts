import { copyFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { OPERATOR } from '../apiserver/auth/identity.ts';
import { ApiClient } from '../apiserver/client/client.ts';
import { startApiServer } from '../apiserver/server.ts';
import { openEtcdStore } from '../apiserver/store/etcd/open-store.ts';
import { SqliteStore } from '../apiserver/store/sqlite/store.ts';
import type { Store } from '../apiserver/store/store.ts';
import { silentLogger } from '../resources/ambient/log.ts';
import { Image } from '../resources/kinds/image.ts';
import { type Backend, backends } from './backend.ts';
import { closedLoopRate } from './bench-client.ts';
import type { BenchWorld } from './goal.ts';
import { anImage } from './images.ts';

export const FILLED_OBJECTS = 10_000;
const WRITERS = 64;
const ROOT = 'filled';
/** By world: the file, which is copied for every server, and whether etcd, which all of them share, is filled. */
const files = new WeakMap<BenchWorld, Promise<string>>();
const shared = new WeakMap<BenchWorld, Promise<void>>();

/** The stores to measure on, each with 10,000 objects once `fillStore` was called for a folder. */
export const filledBackends = (world: BenchWorld): Promise<readonly Backend[]> => backends(world, ROOT);

/** Sees to it that a server in this folder finds 10,000 objects. They are written once a store. */
export async function fillStore(world: BenchWorld, folder: string, backend: Backend): Promise<void> {
  if (backend.kind === 'etcd') return once(shared, world, () => fillEtcd(world));
  await copyFile(await once(files, world, () => fillFile(world)), join(folder, 'state.db'));
}

function once<T>(made: WeakMap<BenchWorld, Promise<T>>, world: BenchWorld, make: () => Promise<T>): Promise<T> {
  const found = made.get(world) ?? make();
  made.set(world, found);
  return found;
}

async function fillFile(world: BenchWorld): Promise<string> {
  await mkdir(join(world.folder, 'filled'), { recursive: true });
  const path = join(world.folder, 'filled', 'state.db');
  await using store = await SqliteStore.open({ path, ids: world.ids });
  await fill(store, world);
  return path;
}

async function fillEtcd(world: BenchWorld): Promise<void> {
  const { clock, ids } = world;
  const { endpoints = [] } = (await world.etcd()) ?? {};
  await using store = await openEtcdStore({ endpoints, root: ROOT, clock, ids });
  await fill(store, world);
}

async function fill(store: Store, { clock, ids }: BenchWorld): Promise<void> {
  const platform = { platform: 'linux/amd64', runtime: process.version };
  await using server = await startApiServer({
    store,
    operatorTokenHash: '',
    sealingKeys: [ids.secret(32)],
    name: 'bench',
    clock,
    ids,
    random: Math.random,
    log: silentLogger,
    platform,
  });
  const images = new ApiClient(server.transportFor(OPERATOR)).resource<Image>(Image);
  const load = { clients: WRITERS, operations: FILLED_OBJECTS, now: () => clock.monotonic() };
  await closedLoopRate(load, (_, i) => images.create(anImage(i)));
}
