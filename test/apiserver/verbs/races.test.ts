import assert from 'node:assert/strict';
import { MemoryStore } from '../../../apiserver/store/memory/store.ts';
import type { Store } from '../../../apiserver/store/store.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';
import { EtcdServer, needEtcd } from '../../harness/etcd-server.ts';
import { FarStore } from '../../harness/far-store.ts';
import { type RawAnswer, send } from '../../harness/raw.ts';
import { startTestServer } from '../../harness/server.ts';
import { EtcdHome } from '../store/etcd-home.ts';

const EVENTS = '/api/v1/namespaces/default/events';
const MERGE = 'application/merge-patch+json';
const AT_ONCE = 24;

/** Stores of servers over the same data, and the revision that all of them must come to see. */
interface Shared {
  readonly stores: readonly Store[];
  revision(): Promise<number>;
}

type Shape = (ended: AsyncDisposableStack) => Promise<Shared>;

const ON_ETCD = 'two servers on one etcd';
let etcd: EtcdServer;

function inMemory(over: (store: Store) => readonly Store[]): Shape {
  return async (ended) => {
    const store = ended.use(await MemoryStore.open({ ids: systemIds }));
    return { stores: over(store), revision: async () => store.revision() };
  };
}

/** How servers stand before the store they share. */
const SHAPES: Readonly<Record<string, Shape>> = {
  'one server': inMemory((store) => [store]),
  'two servers': inMemory((store) => [store, store]),
  'two servers far from their store': inMemory((store) => [new FarStore(store, () => 1), new FarStore(store, () => 2)]),
  [ON_ETCD]: async (ended) => {
    const home = ended.use(new EtcdHome(etcd));
    const [one, other] = [await home.open(), await home.open()];
    return { stores: [one, other], revision: () => one.latest() };
  },
};

async function race(shape: Shape) {
  const ended = new AsyncDisposableStack();
  const { stores, revision } = await shape(ended);
  const tests = await Promise.all(stores.map((store) => startTestServer({ store })));
  for (const test of tests) ended.use(test);
  const ask = (i: number, method: string, path: string, body?: unknown, type = 'application/json') => {
    const app = (tests[i % tests.length] as (typeof tests)[number]).server.app;
    return send(app, method, `${EVENTS}${path}`, { headers: { 'content-type': type }, body });
  };
  return {
    ask,
    /** Every server has seen what there is. */
    async caughtUp() {
      const signal = AbortSignal.timeout(5_000);
      for (const { server } of tests) await server.parts.cache.waitFor(await revision(), signal);
    },
    /** The same kind of request many times at once. */
    all: (request: (i: number) => Promise<RawAnswer>) =>
      Promise.all(Array.from({ length: AT_ONCE }, (_, i) => request(i))),
    [Symbol.asyncDispose]: () => ended.disposeAsync(),
  };
}

const event = (name: string, over: object = {}) => ({
  metadata: { name },
  involvedObject: { namespace: 'default' },
  ...over,
});
const count = (answers: readonly RawAnswer[], status: number) => answers.filter((a) => a.status === status).length;

for (const [name, shape] of Object.entries(SHAPES)) {
  describe(`writes that race, ${name}`, () => {
    if (name === ON_ETCD) {
      before(async function () {
        needEtcd(this);
        etcd = await EtcdServer.start();
      });
      after(() => etcd?.[Symbol.asyncDispose]());
    }

    it('of one name exactly one create gets in', async () => {
      await using world = await race(shape);
      const answers = await world.all((i) => world.ask(i, 'POST', '', event('one', { reason: `by ${i}` })));
      assert.deepEqual([count(answers, 201), count(answers, 409)], [1, AT_ONCE - 1]);
      assert.ok(answers.every(({ status, body }) => status === 201 || body.reason === 'AlreadyExists'));
      await world.caughtUp();
      const won = answers.find(({ status }) => status === 201);
      assert.deepEqual((await world.ask(1, 'GET', '/one')).body, won && JSON.parse(won.text));
    });

    it('of one version exactly one update gets in', async () => {
      await using world = await race(shape);
      const { metadata } = (await world.ask(0, 'POST', '', event('one'))).body;
      await world.caughtUp();
      const answers = await world.all((i) =>
        world.ask(i, 'PUT', '/one', { ...event('one'), metadata, reason: `by ${i}` }),
      );
      assert.deepEqual([count(answers, 200), count(answers, 409)], [1, AT_ONCE - 1]);
      assert.ok(answers.every(({ status, body }) => status === 200 || body.reason === 'Conflict'));
    });

    it('patches without a version all get in, one after another', async () => {
      await using world = await race(shape);
      await world.ask(0, 'POST', '', event('one'));
      await world.caughtUp();
      const answers = await world.all((i) =>
        world.ask(i, 'PATCH', '/one', { metadata: { labels: { [`l${i}`]: 'x' } } }, MERGE),
      );
      assert.equal(count(answers, 200), AT_ONCE);
      assert.equal(new Set(answers.map(({ body }) => body.metadata?.resourceVersion)).size, AT_ONCE);
      await world.caughtUp();
      const { labels = {} } = (await world.ask(1, 'GET', '/one')).body.metadata as { labels?: object };
      assert.equal(Object.keys(labels).length, AT_ONCE);
    });

    it('of many deletes one removes, and of the updates none brings it back', async () => {
      await using world = await race(shape);
      await world.ask(0, 'POST', '', event('one'));
      await world.caughtUp();
      const answers = await world.all((i) =>
        i % 2 === 0 ? world.ask(i, 'DELETE', '/one') : world.ask(i, 'PUT', '/one', event('one', { reason: `by ${i}` })),
      );
      const deletes = answers.filter((_, i) => i % 2 === 0);
      const updates = answers.filter((_, i) => i % 2 === 1);
      assert.deepEqual([count(deletes, 200), count(deletes, 404)], [1, AT_ONCE / 2 - 1]);
      assert.equal(count(updates, 200) + count(updates, 404), AT_ONCE / 2);
      await world.caughtUp();
      assert.equal((await world.ask(0, 'GET', '/one')).status, 404);
      assert.equal((await world.ask(1, 'GET', '/one')).status, 404);
    });

    it('a delete under a version loses to a write that came first, one under a uid does not', async () => {
      await using world = await race(shape);
      const { metadata } = (await world.ask(0, 'POST', '', event('one'))).body;
      await world.caughtUp();
      const { uid, resourceVersion } = metadata ?? {};
      await world.ask(0, 'PATCH', '/one', { reason: 'first' }, MERGE);
      await world.caughtUp();
      const stale = await world.all((i) => world.ask(i, 'DELETE', '/one', { preconditions: { uid, resourceVersion } }));
      assert.equal(count(stale, 409), AT_ONCE);
      const sure = await world.all((i) => world.ask(i, 'DELETE', '/one', { preconditions: { uid } }));
      assert.deepEqual([count(sure, 200), count(sure, 404)], [1, AT_ONCE - 1]);
    });

    it('the last finalizer goes once, and the object with it', async () => {
      await using world = await race(shape);
      await world.ask(0, 'POST', '', { ...event('one'), metadata: { name: 'one', finalizers: ['example.com/hold'] } });
      await world.caughtUp();
      await world.ask(0, 'DELETE', '/one');
      await world.caughtUp();
      const answers = await world.all((i) => world.ask(i, 'PATCH', '/one', { metadata: { finalizers: null } }, MERGE));
      assert.deepEqual([count(answers, 200), count(answers, 404)], [1, AT_ONCE - 1]);
    });

    it('names made from one base are all different', async () => {
      await using world = await race(shape);
      const base = { ...event(''), metadata: { generateName: 'g-' } };
      const answers = await world.all((i) => world.ask(i, 'POST', '', base));
      assert.equal(count(answers, 201), AT_ONCE);
      assert.equal(new Set(answers.map(({ body }) => body.metadata?.name)).size, AT_ONCE);
    });
  });
}
