import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { keepCompacting } from '../apiserver/compactor.ts';
import { SqliteStore } from '../apiserver/store/sqlite/store.ts';
import type { Store } from '../apiserver/store/store.ts';
import { silentLogger } from '../resources/ambient/log.ts';
import type { BenchWorld, Goal } from './goal.ts';
import { atMost, type Contest, percentile } from './harness.ts';
import { openLoop } from './open-loop.ts';

const KEYS = 10_000;
const VALUE_BYTES = 2048;
const WRITES_A_SECOND = 1000;
const SECONDS_A_ROUND = 20;
const BATCH = 100;

/** Goal 13: a store that is written without end. The rounds go on with one file, while history is compacted as the server does it. */
export const disk: Goal = {
  names: ['13', 'disk'],
  async open(world, held) {
    const path = join(world.folder, 'disk.db');
    const store = held.use(await SqliteStore.open({ path, ids: world.ids }));
    await fill(store);
    const ending = new AbortController();
    const compacting = keepCompacting({ store, clock: world.clock, log: silentLogger }, ending.signal);
    held.defer(async () => {
      ending.abort(new Error('the bench is over'));
      await compacting;
    });
    const file: Contest = {
      goal: '13',
      title: `file / live bytes, ${WRITES_A_SECOND} updates/s of ${KEYS} keys for ${SECONDS_A_ROUND} s more`,
      unit: 'x',
      async ours() {
        await update(store, world);
        return (await bytesAt(path)) / (KEYS * VALUE_BYTES);
      },
      must: atMost(5, 'x'),
      great: atMost(3, 'x'),
    };
    const stall: Contest = {
      goal: '13',
      title: 'a write meanwhile, p99.9',
      unit: 'ms',
      ours: async () => percentile(await update(store, world), 0.999),
      must: atMost(50, 'ms'),
      great: atMost(15, 'ms'),
    };
    return [file, stall];
  },
};

async function fill(store: Store): Promise<void> {
  const value = new Uint8Array(VALUE_BYTES);
  for (let at = 0; at < KEYS; at += BATCH) {
    const puts = Array.from({ length: BATCH }, (_, i) => ({ key: keyOf(at + i), value }));
    await store.txn({ compares: [], puts, deletes: [] }).done;
  }
}

/** How long each write took, in ms. */
async function update(store: Store, { clock, signal }: BenchWorld): Promise<readonly number[]> {
  const load = { perSecond: WRITES_A_SECOND, seconds: SECONDS_A_ROUND, clock, signal };
  const value = new Uint8Array(VALUE_BYTES);
  const times = await openLoop(load, (i) => {
    const puts = [{ key: keyOf((i * 7919) % KEYS), value }];
    return { kind: 'put', done: store.txn({ compares: [], puts, deletes: [] }).done };
  });
  return times.get('put') ?? [];
}

/** The file with what is not yet moved into it. */
async function bytesAt(path: string): Promise<number> {
  const sizes = await Promise.all([path, `${path}-wal`].map((file) => stat(file).then(({ size }) => size)));
  return sizes.reduce((sum, size) => sum + size, 0);
}

const keyOf = (i: number) => `bench/${i}`;
