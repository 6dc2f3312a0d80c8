import { copyFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { OPERATOR } from '../apiserver/auth/identity.ts';
import { ApiClient } from '../apiserver/client/client.ts';
import { startApiServer } from '../apiserver/server.ts';
import { SqliteStore } from '../apiserver/store/sqlite/store.ts';
import { silentLogger } from '../resources/ambient/log.ts';
import { Image } from '../resources/kinds/image.ts';
import { closedLoopRate } from './bench-client.ts';
import type { BenchWorld } from './goal.ts';
import { anImage } from './images.ts';

export const FILLED_OBJECTS = 10_000;
const WRITERS = 64;
const made = new WeakMap<BenchWorld, Promise<string>>();

/** Puts a store with 10,000 objects into a server's folder. It is written once and copied after that. */
export async function fillStore(world: BenchWorld, folder: string): Promise<void> {
  let filled = made.get(world);
  if (filled === undefined) {
    filled = makeFilled(world);
    made.set(world, filled);
  }
  await copyFile(await filled, join(folder, 'state.db'));
}

async function makeFilled({ folder, clock, ids }: BenchWorld): Promise<string> {
  await mkdir(join(folder, 'filled'), { recursive: true });
  const path = join(folder, 'filled', 'state.db');
  await using store = await SqliteStore.open({ path, ids });
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
  return path;
}
