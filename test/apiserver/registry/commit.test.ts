import assert from 'node:assert/strict';
import { MemoryStore } from '../../../apiserver/store/memory/store.ts';
import type { Batch, Store } from '../../../apiserver/store/store.ts';
import { ManualClock } from '../../../resources/ambient/manual-clock.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';
import { eventually, quiesce } from '../../harness/eventually.ts';
import { FarStore } from '../../harness/far-store.ts';
import { createVM, letGo, makeQuota, VMS_URL } from '../../harness/quota-world.ts';
import { type RawAnswer, send } from '../../harness/raw.ts';
import { startTestServer, type TestServer } from '../../harness/server.ts';
import { until } from '../../harness/until.ts';

const MERGE = { 'content-type': 'application/merge-patch+json' };
const NAMESPACES = '/api/v1/namespaces';
const TENANTS = '/apis/coppice.dev/v1/tenants';
type Fault = 'NoSpace' | 'IoErrorBeforeCommit' | 'IoErrorAfterCommit';

const makeNamespace = (test: TestServer, name: string): Promise<RawAnswer> =>
  send(test.server.app, 'POST', NAMESPACES, { body: { metadata: { name } } });
const makeTenant = (test: TestServer, name: string): Promise<RawAnswer> =>
  send(test.server.app, 'POST', TENANTS, {
    body: { apiVersion: 'coppice.dev/v1', kind: 'Tenant', metadata: { name } },
  });
const get = (test: TestServer, url: string): Promise<RawAnswer> => send(test.server.app, 'GET', url);
const label = (test: TestServer, name: string, value: string): Promise<RawAnswer> =>
  send(test.server.app, 'PATCH', `${NAMESPACES}/${name}`, {
    body: { metadata: { labels: { a: value } } },
    headers: MERGE,
  });

/** A memory store whose next commits wait at a gate, and then end as told. */
async function gatedStore() {
  let gate: Promise<Fault | undefined> | undefined;
  const store = await MemoryStore.open({ ids: systemIds, beforeCommit: () => gate });
  return {
    store,
    /** Holds commits from now on; the function it answers lets the one that waits end so, and later ones go well. */
    hold(): (fault?: Fault) => void {
      const { promise, resolve } = Promise.withResolvers<Fault | undefined>();
      gate = promise;
      return (fault) => {
        gate = undefined;
        resolve(fault);
      };
    },
  };
}

async function lastBatch(store: Store): Promise<Batch> {
  for await (const batch of store.watch(store.revision() - 1, AbortSignal.timeout(5_000))) return batch;
  throw new Error('no batch');
}

describe('a lost race', () => {
  it('is thought out again on what won', async () => {
    const store = await MemoryStore.open({ ids: systemIds });
    const far = new FarStore(store);
    await using other = await startTestServer({ store });
    await using test = await startTestServer({ store: far });
    await makeNamespace(test, 'x');
    far.sent = 0;
    far.beforeTxn = async () => {
      far.beforeTxn = async () => {};
      const body = { metadata: { labels: { theirs: 'yes' } } };
      await send(other.server.app, 'PATCH', `${NAMESPACES}/x`, { body, headers: MERGE });
    };
    const { status, body } = await label(test, 'x', 'ours');
    assert.equal(status, 200);
    assert.equal(far.sent, 2);
    const { labels } = body.metadata as { labels: Record<string, string> };
    assert.deepEqual([labels.theirs, labels.a], ['yes', 'ours']);
  });

  it('that is never won ends after five seconds with 503 and Retry-After', async () => {
    const store = await MemoryStore.open({ ids: systemIds });
    const far = new FarStore(store);
    const clock = new ManualClock();
    await using other = await startTestServer({ store });
    await using test = await startTestServer({ store: far, clock });
    await makeNamespace(test, 'x');
    far.sent = 0;
    const body = (i: number) => ({ metadata: { labels: { theirs: `n${i}` } } });
    far.beforeTxn = async () => {
      await send(other.server.app, 'PATCH', `${NAMESPACES}/x`, { body: body(far.sent), headers: MERGE });
    };
    const answers: RawAnswer[] = [];
    void label(test, 'x', 'ours').then((got) => answers.push(got));
    await until('it tries again and again', () => far.sent > 3);
    await clock.advance(4_999);
    await quiesce();
    assert.equal(answers.length, 0, 'it gave up too early');
    await clock.advance(1);
    await until('the write gives up', () => answers.length > 0);
    assert.equal(answers[0]?.status, 503);
    assert.equal(answers[0]?.headers['retry-after'], '1');
    assert.equal(test.server.parts.races.size, 0, 'somebody is left in the queue');
  });

  it('queues behind others that lost it: n writers need about n tries, not n squared', async () => {
    const store = await MemoryStore.open({ ids: systemIds });
    const far = new FarStore(store, () => 1);
    await using test = await startTestServer({ store: far });
    await makeNamespace(test, 'x');
    far.sent = 0;
    const writers = 30;
    const answers = await Promise.all(
      Array.from({ length: writers }, (_, i) =>
        send(test.server.app, 'PATCH', `${NAMESPACES}/x`, {
          body: { metadata: { labels: { [`l${i}`]: 'y' } } },
          headers: MERGE,
        }),
      ),
    );
    assert.ok(answers.every(({ status }) => status === 200));
    const { labels } = (await get(test, `${NAMESPACES}/x`)).body.metadata as { labels: object };
    assert.equal(Object.keys(labels).length, writers + 1);
    assert.ok(far.sent <= 4 * writers, `${far.sent} transactions`);
  });
});

describe('companions', () => {
  it('are written in the transaction of their object: made, adopted, and removed with it', async () => {
    const store = await MemoryStore.open({ ids: systemIds });
    await using test = await startTestServer({ store });
    await makeTenant(test, 'red');
    const made = await lastBatch(store);
    assert.deepEqual(
      made.events.map(({ key, type }) => `${type} ${key}`),
      [
        'put objects/coppice.dev/tenants/red',
        'put objects/core/namespaces/red',
        'put fence/tenant/red',
        'put fence/standing/red',
      ],
    );
    const namespace = await get(test, `${NAMESPACES}/red`);
    assert.equal(namespace.body.metadata?.resourceVersion, String(made.revision));
    assert.match(String(namespace.body.metadata?.uid), /^[0-9a-f-]{36}$/);

    const { uid } = (await makeNamespace(test, 'blue')).body.metadata as { uid: string };
    await makeTenant(test, 'blue');
    const adopted = (await get(test, `${NAMESPACES}/blue`)).body.metadata as {
      uid: string;
      labels: Record<string, string>;
    };
    assert.deepEqual([adopted.uid, adopted.labels['coppice.dev/tenant']], [uid, 'blue']);

    await send(test.server.app, 'DELETE', `${TENANTS}/red`);
    assert.equal((await get(test, `${NAMESPACES}/red`)).status, 200);
    await send(test.server.app, 'PATCH', `${TENANTS}/red`, {
      body: { metadata: { finalizers: null } },
      headers: MERGE,
    });
    const gone = await lastBatch(store);
    const removed = gone.events.filter(({ type }) => type === 'delete').map(({ key }) => key);
    assert.deepEqual(removed, ['objects/coppice.dev/tenants/red', 'objects/core/namespaces/red']);
    assert.equal((await get(test, `${NAMESPACES}/red`)).status, 404);
  });

  it('are not there when the transaction failed, nor is their object', async () => {
    const { store, hold } = await gatedStore();
    await using test = await startTestServer({ store });
    const release = hold();
    const tenant = makeTenant(test, 'red');
    await quiesce();
    release('NoSpace');
    assert.equal((await tenant).status, 507);
    assert.equal((await get(test, `${TENANTS}/red`)).status, 404);
    assert.equal((await get(test, `${NAMESPACES}/red`)).status, 404);
    assert.equal((await makeTenant(test, 'red')).status, 201);
  });

  it('that lose their race take the object back to the drawing board', async () => {
    const store = await MemoryStore.open({ ids: systemIds });
    const far = new FarStore(store);
    await using other = await startTestServer({ store });
    await using test = await startTestServer({ store: far });
    far.beforeTxn = async () => {
      far.beforeTxn = async () => {};
      await makeNamespace(other, 'red');
    };
    const made = makeTenant(test, 'red');
    assert.equal((await made).status, 201);
    const { labels } = (await get(other, `${NAMESPACES}/red`)).body.metadata as { labels: Record<string, string> };
    assert.equal(labels['coppice.dev/tenant'], 'red');
  });
});

describe('a store that fails', () => {
  it('for want of space answers 507, takes what is in flight behind it along, and works again', async () => {
    const { store, hold } = await gatedStore();
    await using test = await startTestServer({ store });
    await makeQuota(test.server.app, 2);
    const release = hold();
    const pending = [createVM(test.server.app, 'a'), createVM(test.server.app, 'b')];
    await quiesce();
    assert.equal(test.server.parts.cache.world.tenantUse('red').vms, 2, 'admissions in flight see each other');
    release('NoSpace');
    for (const { status, body } of await Promise.all(pending)) {
      assert.deepEqual([status, body.reason, body.details?.retryAfterSeconds], [507, 'InsufficientStorage', undefined]);
    }
    assert.deepEqual((await get(test, VMS_URL)).body.items, []);
    for (const name of ['a', 'b']) assert.equal((await createVM(test.server.app, name)).status, 201);
    assert.equal((await createVM(test.server.app, 'c')).status, 403);
  });

  it('undoes no answer: a refusal or a no-op never rests on a write that failed', async () => {
    const { store, hold } = await gatedStore();
    await using test = await startTestServer({ store });
    await makeNamespace(test, 'x');
    let release = hold();
    const first = makeNamespace(test, 'y');
    await quiesce();
    const second = makeNamespace(test, 'y');
    await quiesce();
    release('NoSpace');
    assert.deepEqual([(await first).status, (await second).status], [507, 201]);

    release = hold();
    const change = label(test, 'x', 'new');
    await quiesce();
    const same = label(test, 'x', 'new');
    await quiesce();
    release('NoSpace');
    assert.deepEqual([(await change).status, (await same).status], [507, 200]);
    const { labels } = (await get(test, `${NAMESPACES}/x`)).body.metadata as { labels: Record<string, string> };
    assert.equal(labels.a, 'new');
  });

  it('forgets room that a failed delete would have made, before its caller hears of it', async () => {
    const { store, hold } = await gatedStore();
    await using test = await startTestServer({ store });
    await makeQuota(test.server.app, 1);
    await createVM(test.server.app, 'old');
    await send(test.server.app, 'DELETE', `${VMS_URL}/old`);
    const release = hold();
    const removal = letGo(test.server.app, 'old');
    await quiesce();
    const eager = createVM(test.server.app, 'eager');
    await quiesce();
    release('NoSpace');
    assert.equal((await removal).status, 507);
    assert.notEqual((await eager).status, 201);
    assert.equal((await createVM(test.server.app, 'later')).status, 403);
  });

  it('with an unknown outcome answers 504 without Retry-After, then 503, ends watches and is not ready', async () => {
    const { store, hold } = await gatedStore();
    await using test = await startTestServer({ store });
    const watching = new AbortController();
    const watch = await test.client
      .resource({ group: '', version: 'v1', plural: 'namespaces', kind: 'Namespace', namespaced: false })
      .watch({}, watching.signal);
    const events = (async () => {
      const types: string[] = [];
      for await (const { type } of watch) types.push(type);
      return types;
    })();
    const release = hold();
    const write = makeNamespace(test, 'x');
    await quiesce();
    release('IoErrorAfterCommit');
    const { status, headers, body } = await write;
    assert.deepEqual([status, headers['retry-after'], body.reason], [504, undefined, 'Timeout']);
    const next = await makeNamespace(test, 'y');
    assert.deepEqual([next.status, next.headers['retry-after']], [503, '1']);
    assert.deepEqual(await events, ['ADDED', 'ADDED']);
    assert.equal((await get(test, '/readyz')).status, 503);
    assert.equal((await get(test, '/livez')).status, 200);
  });

  it('that does not answer in time leaves the outcome open: 504', async () => {
    const { store, hold } = await gatedStore();
    const clock = new ManualClock();
    await using test = await startTestServer({ store, clock });
    const release = hold();
    let answer: RawAnswer | undefined;
    void makeNamespace(test, 'x').then((got) => {
      answer = got;
    });
    await eventually(clock, 'the request ends', () => answer !== undefined, 1_000);
    assert.deepEqual([answer?.status, answer?.headers['retry-after']], [504, undefined]);
    assert.match(answer?.body.message ?? '', /may or may not/);
    release();
    await quiesce();
    assert.equal((await get(test, `${NAMESPACES}/x`)).status, 200);
  });

  it('says 413 for an object beyond what it can keep', async () => {
    await using test = await startTestServer();
    const annotations = { a: 'x'.repeat(200_000) };
    const spec = { image: 'tiny', size: { memory: 'y'.repeat(1_600_000) } };
    await makeQuota(test.server.app, 1);
    const body = { apiVersion: 'coppice.dev/v1', kind: 'Event', metadata: { name: 'big', annotations }, spec };
    const event = { ...body, apiVersion: 'v1', involvedObject: { namespace: 'red' }, message: 'z'.repeat(1_600_000) };
    const answer = await send(test.server.app, 'POST', '/api/v1/namespaces/red/events', { body: event });
    assert.deepEqual([answer.status, answer.body.reason], [413, 'RequestEntityTooLarge'], answer.text.slice(0, 300));
  });
});
