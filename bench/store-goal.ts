import { join } from 'node:path';
import type { BenchWorld, Goal } from './goal.ts';
import { type Contest, ratioAtLeast } from './harness.ts';
import { rawSqliteRate, type StoreLoad, storeRate } from './store.ts';

const BASE = { keys: 1000, valueBytes: 2048 };
const DELAY_MS = 5;

/** Goal 3: the store alone, against the same rows straight into SQLite; and what group commit is worth where a commit takes 5 ms. */
export const storeGoal: Goal = {
  names: ['3', 'store'],
  async open(world) {
    return [...[16, 64].map((writers) => againstSqlite(world, writers)), groupCommit(world)];
  },
};

function againstSqlite(world: BenchWorld, writers: number): Contest {
  const load = (): StoreLoad => ({ ...BASE, path: fresh(world), writers, operations: 6000 });
  return {
    goal: '3',
    title: `store alone, ${writers} writers`,
    unit: '/s',
    ours: () => storeRate(load(), world.clock, world.ids),
    control: { title: `raw SQLite, ${writers} a commit`, take: async () => rawSqliteRate(load(), world.clock) },
    must: ratioAtLeast(0.5),
    great: ratioAtLeast(0.8),
  };
}

function groupCommit(world: BenchWorld): Contest {
  const rate = (writers: number, operations: number) =>
    storeRate({ ...BASE, path: fresh(world), writers, operations, commitDelayMs: DELAY_MS }, world.clock, world.ids);
  return {
    goal: '3',
    title: `store, a commit ${DELAY_MS} ms slower, 64 writers`,
    unit: '/s',
    ours: () => rate(64, 6400),
    control: { title: '1 writer', take: () => rate(1, 100) },
    must: ratioAtLeast(20),
    great: ratioAtLeast(40),
  };
}

let files = 0;
function fresh({ folder }: BenchWorld): string {
  return join(folder, `store-${files++}.db`);
}
