import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import type { Store } from '../../../apiserver/store/store.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';
import { StoreHome } from './store-home.ts';
import { textOf, write } from './store-maker.ts';

const KILLS = Number(process.env.COPPICE_KILLS ?? 12);
const SEED = Number(process.env.COPPICE_KILL_SEED ?? Number.parseInt(systemIds.secret(3), 16));
const WRITERS = 6;
const WRITER = fileURLToPath(new URL('./kill-writer.ts', import.meta.url));

interface Acknowledged {
  readonly writer: number;
  readonly number: number;
  readonly revision: number;
}

describe('the sqlite store, killed while it writes', () => {
  it(`keeps every acknowledged write and no half of one, ${KILLS} times`, async function () {
    this.timeout(KILLS * 10_000);
    process.stdout.write(`      COPPICE_KILL_SEED=${SEED}\n`);
    await using home = await StoreHome.make();
    const moments = fc.sample(fc.integer({ min: 1, max: 300 }), { seed: SEED, numRuns: KILLS });
    let revision = 0;
    for (const [round, moment] of moments.entries()) {
      const acknowledged = await writeUntilKilled(home.path, round, moment);
      assert.ok(acknowledged.length >= moment);
      const store = await home.open();
      await checkRound(store, round, acknowledged, revision);
      const before = store.revision();
      revision = await write(store, { put: { after: `${round}` } });
      assert.equal(revision, before + 1);
      await home.close();
    }
  });
});

/** Lets a process write until it has acknowledged `moment` writes, then kills it; everything it acknowledged. */
async function writeUntilKilled(path: string, round: number, moment: number): Promise<Acknowledged[]> {
  const child = spawn(process.execPath, [WRITER, path, `${round}`, `${WRITERS}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const closed = once(child, 'close');
  const acknowledged: Acknowledged[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.endsWith(' .')) continue;
    const [writer = Number.NaN, number = Number.NaN, revision = Number.NaN] = line.split(' ').map(Number);
    acknowledged.push({ writer, number, revision });
    if (acknowledged.length === moment) child.kill('SIGKILL');
  }
  assert.deepEqual(await closed, [null, 'SIGKILL'], 'the writer ended by itself');
  return acknowledged;
}

async function checkRound(
  store: Store,
  round: number,
  acknowledged: readonly Acknowledged[],
  start: number,
): Promise<void> {
  const { entries } = await store.range({ prefix: `${round}/` });
  const found = new Map(entries.map((entry) => [entry.key, entry]));
  for (const { writer, number, revision } of acknowledged) {
    assert.ok(store.revision() >= revision);
    assert.equal(found.get(`${round}/${writer}/${number}/a`)?.modRevision, revision);
  }
  for (const [key, entry] of found) {
    if (!key.endsWith('/a')) continue;
    const twin = found.get(key.replace(/a$/, 'b'));
    assert.equal(twin?.modRevision, entry.modRevision, `${key} is there without its other half`);
    assert.equal(twin && textOf(twin.value), textOf(entry.value));
  }
  for (let writer = 0; writer < WRITERS; writer++) {
    const numbers = entries.filter(({ key }) => key.startsWith(`${round}/${writer}/`) && key.endsWith('/a'));
    const last = found.get(`${round}/${writer}/last`);
    assert.equal(last ? Number(textOf(last.value)) : -1, numbers.length - 1);
  }
  await checkHistory(store, start);
}

/** Every revision since `start` is in the log, whole and once. */
async function checkHistory(store: Store, start: number): Promise<void> {
  let position = start;
  if (position === store.revision()) return;
  for await (const { revision, events } of store.watch(start, AbortSignal.timeout(10_000))) {
    position += 1;
    assert.equal(revision, position);
    assert.equal(events.length, 3);
    if (position === store.revision()) return;
  }
  assert.fail(`the watch ended at revision ${position}`);
}
