import assert from 'node:assert/strict';
import { RawWatch, send } from '../harness/raw.ts';
import { OPERATOR_TOKEN } from '../harness/server.ts';
import { FuzzRequests } from './fuzz-request.ts';
import { FuzzWorld } from './fuzz-world.ts';
import { Random } from './random.ts';
import { type Outcome, sendRequests } from './send-requests.ts';

const SEED = Number(process.env.COPPICE_FUZZ_SEED ?? 20_260_101);
const COUNT = Number(process.env.COPPICE_FUZZ_REQUESTS ?? 10_000);
/** Requests before the level is taken: what is compiled and kept once is there then. */
const WARM_UP = Math.min(2_000, COUNT);

/**
 * What the heap may grow by. Kept on purpose, and not all of it filled after the warm-up: compiled patterns (4,096 at most) and schemas,
 * and the code that the engine compiled meanwhile.
 */
const HEAP_TOLERANCE_BYTES = 24 << 20;

function report(outcome: Outcome): string {
  const statuses = [...outcome.statuses].sort().map(([status, count]) => `${status}: ${count}`);
  const held = outcome.held.map(({ ms, during }) => {
    const shown = during.map((text) => text.slice(0, 400)).join('\n    ');
    return `the loop was held for ${ms} ms during\n    ${shown}`;
  });
  return [
    `answers ${statuses.join(', ')}`,
    ...held.slice(0, process.env.COPPICE_FUZZ_HELD === undefined ? 1 : held.length),
  ].join('\n  ');
}

async function worksAsEver({ test: { server } }: FuzzWorld): Promise<void> {
  const path = '/api/v1/namespaces/default/configmaps';
  await using watch = await RawWatch.open(server.app, `${path}?watch=1&fieldSelector=metadata.name=after`);
  const made = await send(server.app, 'POST', path, { body: { metadata: { name: 'after' }, data: { a: 'b' } } });
  assert.equal(made.status, 201, made.text);
  assert.equal((await send(server.app, 'GET', `${path}/after`)).status, 200);
  assert.equal((await send(server.app, 'DELETE', `${path}/after`)).status, 200);
  assert.deepEqual(
    (await watch.take(2)).map(({ type }) => type),
    ['ADDED', 'DELETED'],
  );
}

describe(`malformed requests (seed ${SEED}, ${COUNT} of them)`, () => {
  let world: FuzzWorld;
  before(async () => {
    world = await FuzzWorld.start();
  });
  after(async () => world[Symbol.asyncDispose]());

  it('are answered, bring nothing down and leave nothing behind', async function () {
    this.timeout(60_000 + COUNT * 20);
    const requests = new FuzzRequests(new Random(SEED), `Bearer ${OPERATOR_TOKEN}`);
    const warm = await sendRequests(requests, { from: 0, count: WARM_UP, ...world.wire });
    await world.clear();
    const before = await world.level();
    await world.furnish();
    const outcome = await sendRequests(requests, { from: WARM_UP, count: COUNT - WARM_UP, ...world.wire });
    await world.clear();
    const after = await world.level(before);
    console.log(`  seed ${SEED}: ${report(outcome)}`);
    assert.deepEqual([...warm.faults, ...outcome.faults], [], 'faults');
    assert.deepEqual(world.complaints, []);
    await worksAsEver(world);
    assert.ok(
      after.heapBytes - before.heapBytes < HEAP_TOLERANCE_BYTES,
      `the heap grew by ${after.heapBytes - before.heapBytes}`,
    );
    assert.ok(after.sockets <= before.sockets, `${after.sockets} sockets are open, ${before.sockets} were`);
    assert.ok(after.watches <= before.watches, `${after.watches} watches are open, ${before.watches} were`);
    assert.ok(after.timers <= before.timers + 2, `${after.timers} timers run, ${before.timers} did`);
    assert.equal(Object.hasOwn(Object.prototype, 'polluted'), false);
  });
});
