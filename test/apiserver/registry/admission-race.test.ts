import assert from 'node:assert/strict';
import fc from 'fast-check';
import { MemoryStore } from '../../../apiserver/store/memory/store.ts';
import type { Store } from '../../../apiserver/store/store.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';
import { quiesce } from '../../harness/eventually.ts';
import { FarStore } from '../../harness/far-store.ts';
import { createVM, makeQuota, mostVMs, removeVM } from '../../harness/quota-world.ts';
import { send } from '../../harness/raw.ts';
import { startTestServer, type TestServer } from '../../harness/server.ts';

const ROOM = 5;

/** How servers stand before the store they share. */
const SHAPES: Readonly<Record<string, { servers: number; over: (store: Store) => Store }>> = {
  'one server, writes staged': { servers: 1, over: (store) => store },
  'two servers over one staging store': { servers: 2, over: (store) => store },
  'one server far from its store': { servers: 1, over: (store) => new FarStore(store, () => 1) },
  'two servers far from their store': { servers: 2, over: (store) => new FarStore(store, () => 1) },
};

async function fleetOf(
  { servers, over }: (typeof SHAPES)[string],
  options: { beforeCommit?: () => 'NoSpace' | undefined } = {},
) {
  const store = await MemoryStore.open({ ids: systemIds, ...options });
  const tests: TestServer[] = [];
  for (let i = 0; i < servers; i++) tests.push(await startTestServer({ store: over(store) }));
  return {
    store,
    tests,
    /** Every server has seen what there is. */
    async caughtUp(): Promise<void> {
      const signal = AbortSignal.timeout(5_000);
      for (const { server } of tests) await server.parts.cache.waitFor(store.revision(), signal);
    },
    app: (i: number) => (tests[i % servers] as (typeof tests)[number]).server.app,
    async [Symbol.asyncDispose]() {
      for (const test of tests) await test[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
}

describe('creates against a quota', () => {
  for (const [name, shape] of Object.entries(SHAPES)) {
    it(`${name}: of a burst exactly as many get in as fit`, async () => {
      await using fleet = await fleetOf(shape);
      await makeQuota(fleet.app(0), ROOM);
      await fleet.caughtUp();
      const answers = await Promise.all(Array.from({ length: 24 }, (_, i) => createVM(fleet.app(i), `vm-${i}`)));
      const admitted = answers.filter(({ status }) => status === 201);
      assert.equal(admitted.length, ROOM);
      for (const { status, body } of answers) {
        if (status === 201) continue;
        assert.deepEqual([status, body.details?.causes?.[0]?.reason], [403, 'QuotaExceeded']);
      }
      assert.equal(await mostVMs(fleet.store), ROOM);
    });

    it(`${name}: creates, removals and full disks in any order never let too many in`, async function () {
      this.timeout(30_000);
      const step = fc.record({
        vm: fc.nat({ max: 7 }),
        remove: fc.boolean(),
        at: fc.nat({ max: 1 }),
        wait: fc.boolean(),
      });
      await fc.assert(
        fc.asyncProperty(
          fc.array(step, { maxLength: 40 }),
          fc.infiniteStream(fc.nat({ max: 9 })),
          async (steps, faults) => {
            let failing = false;
            const beforeCommit = () => (failing && faults.next().value === 0 ? ('NoSpace' as const) : undefined);
            await using fleet = await fleetOf(shape, { beforeCommit });
            await makeQuota(fleet.app(0), 3);
            await fleet.caughtUp();
            failing = true;
            const pending: Promise<{ status: number; text: string }>[] = [];
            for (const { vm, remove, at, wait } of steps) {
              const app = fleet.app(at);
              pending.push(remove ? removeVM(app, `vm-${vm}`) : createVM(app, `vm-${vm}`));
              if (wait) await Promise.all(pending);
              else await Promise.resolve();
            }
            for (const { status, text } of await Promise.all(pending)) {
              assert.ok([200, 201, 403, 404, 409, 507].includes(status), text);
            }
            assert.ok((await mostVMs(fleet.store)) <= 3);
            await quiesce();
            for (const { server } of fleet.tests) {
              const world = server.parts.cache.world;
              assert.deepEqual(world.tenantUse('red'), world.recount().tenantUse('red'));
            }
          },
        ),
        { numRuns: shape.servers === 1 && name.includes('staged') ? 60 : 12, seed: 20_261_130 },
      );
    });
  }

  it('are not refused for room that an acknowledged delete made, though the cache has not seen it', async () => {
    const store = await MemoryStore.open({ ids: systemIds });
    const far = new FarStore(store);
    await using near = await startTestServer({ store });
    await using lagging = await startTestServer({ store: far });
    await makeQuota(near.server.app, 1);
    assert.equal((await createVM(near.server.app, 'first')).status, 201);
    await lagging.server.parts.cache.waitFor(store.revision(), AbortSignal.timeout(5_000));
    const release = far.hold();
    assert.equal((await removeVM(near.server.app, 'first')).status, 200);
    let answered = false;
    const second = createVM(lagging.server.app, 'second').finally(() => {
      answered = true;
    });
    await quiesce();
    assert.equal(answered, false, 'it was answered from a cache that lags');
    release();
    assert.equal((await second).status, 201);
  });

  it('that are refused together bump their fence together', async () => {
    const store = await MemoryStore.open({ ids: systemIds });
    await using test = await startTestServer({ store });
    await makeQuota(test.server.app, 0);
    const before = store.revision();
    const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => createVM(test.server.app, `vm-${i}`)));
    assert.ok(answers.every(({ status }) => status === 403));
    assert.ok(store.revision() > before, 'a refusal did not look again');
    assert.ok(store.revision() - before <= 3, `${store.revision() - before} bumps`);
  });

  it('tried dry leave no trace, refused or not', async () => {
    const store = await MemoryStore.open({ ids: systemIds });
    await using test = await startTestServer({ store });
    await makeQuota(test.server.app, 0);
    const before = store.revision();
    const body = { apiVersion: 'coppice.dev/v1', kind: 'VM', metadata: { name: 'x' }, spec: { image: 'tiny' } };
    const refused = await send(test.server.app, 'POST', '/apis/coppice.dev/v1/namespaces/red/vms?dryRun=All', { body });
    assert.equal(refused.status, 403);
    assert.equal(store.revision(), before);
  });
});
