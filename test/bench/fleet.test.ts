import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fleetGoal, idleGoal } from '../../bench/fleet.ts';
import type { BenchWorld, Goal } from '../../bench/goal.ts';
import { measure, type Result } from '../../bench/harness.ts';
import { systemClock } from '../../resources/ambient/system-clock.ts';
import { systemIds } from '../../resources/ambient/system-ids.ts';

const SMALL = { hosts: 20, vms: 200, perSecond: 20, steadySeconds: 1, idleHosts: 5, idleSeconds: 5 };

describe('the bench of a fleet', function () {
  this.timeout(300_000);

  it('fills a small one, and takes every figure of it', async () => {
    assert.deepEqual(await figuresOf(fleetGoal(SMALL, 'file')), ['29', '30', '31', '32']);
  });

  it('takes what one costs that has nothing to do', async () => {
    assert.deepEqual(await figuresOf(idleGoal(SMALL, 'file')), ['33']);
  });
});

/** The goals of which there is a figure. */
async function figuresOf(goal: Goal): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'coppice-fleet-bench-'));
  try {
    const results = await take(goal, folder);
    for (const { title, figures } of results) assert.ok(figures.ours > 0, `${title}: ${figures.ours}`);
    return results.map(({ goal: number }) => number);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function take(goal: Goal, folder: string): Promise<readonly Result[]> {
  await using held = new AsyncDisposableStack();
  const world: BenchWorld = {
    clock: systemClock,
    ids: systemIds,
    folder,
    packageRoot: join(import.meta.dirname, '../..'),
    etcd: async () => undefined,
    signal: new AbortController().signal,
  };
  const results: Result[] = [];
  for (const contest of await goal.open(world, held))
    results.push(await measure({ ...contest, rounds: 1 }, { rounds: 1, runs: 1 }));
  return results;
}
