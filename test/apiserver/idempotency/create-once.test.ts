import assert from 'node:assert/strict';
import type { Identity } from '../../../apiserver/auth/identity.ts';
import { OPERATOR } from '../../../apiserver/auth/identity.ts';
import { forgetDue } from '../../../apiserver/idempotency/forget-answers.ts';
import { KEPT_MS, keptName, MAX_KEPT_ANSWERS, MAX_KEPT_BYTES } from '../../../apiserver/idempotency/kept-answer.ts';
import { MemoryStore } from '../../../apiserver/store/memory/store.ts';
import type { Store } from '../../../apiserver/store/store.ts';
import { ManualClock } from '../../../resources/ambient/manual-clock.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';
import { eventually } from '../../harness/eventually.ts';
import { FarStore } from '../../harness/far-store.ts';
import { type RawAnswer, send } from '../../harness/raw.ts';
import { startTestServer, type TestServer } from '../../harness/server.ts';
import { StoreHome } from '../store/store-home.ts';

const NAMESPACES = '/api/v1/namespaces';
const EVENTS = '/api/v1/namespaces/default/events';
const named = (name: string, labels: object = {}) => ({ metadata: { name, labels } });
const generated = { metadata: { generateName: 'made-' } };

async function post(
  { server }: Pick<TestServer, 'server'>,
  key: string | undefined,
  body: unknown,
  more: { url?: string; identity?: Identity } = {},
) {
  const { url = NAMESPACES, ...wish } = more;
  const headers = key === undefined ? {} : { 'idempotency-key': key };
  return send(server.app, 'POST', url, { ...wish, headers, body });
}

const versionOf = ({ body }: RawAnswer) => `${body.metadata?.uid} ${body.metadata?.resourceVersion}`;
const kept = async (store: Store) => (await store.range({ prefix: 'idempotency/', limit: 0 })).remaining;
const made = async ({ server }: TestServer, url = NAMESPACES) =>
  (await send(server.app, 'GET', url)).body.items?.filter(({ metadata }) => metadata.name.startsWith('made'));

describe('a create under an Idempotency-Key', () => {
  it('makes one object, and answers every other time what it answered the first', async () => {
    await using test = await startTestServer();
    const first = await post(test, 'k1', generated);
    assert.deepEqual([first.status, first.headers['idempotency-replayed']], [201, undefined]);
    const { name } = first.body.metadata as { name: string };
    await send(test.server.app, 'PATCH', `${NAMESPACES}/${name}`, {
      headers: { 'content-type': 'application/merge-patch+json' },
      body: { metadata: { labels: { later: 'yes' } } },
    });
    const before = test.store.revision();
    const again = await post(test, 'k1', generated);
    assert.deepEqual([again.status, again.headers['idempotency-replayed']], [201, 'true']);
    assert.deepEqual(again.body, first.body);
    assert.equal(test.store.revision(), before);
    assert.notEqual((await post(test, 'k2', generated)).body.metadata?.name, name);
    assert.equal((await made(test))?.length, 2);
  });

  it('answers the same when the object is gone, and warns of the same', async () => {
    await using test = await startTestServer();
    const event = { metadata: { name: 'made' }, involvedObject: { namespace: 'default' }, bogus: 1 };
    const first = await post(test, 'gone', event, { url: EVENTS });
    assert.deepEqual(first.headers.warning, ['299 - "unknown field \\"bogus\\""']);
    await send(test.server.app, 'DELETE', `${EVENTS}/made`);
    const again = await post(test, 'gone', event, { url: EVENTS });
    assert.deepEqual([again.body, again.headers.warning], [first.body, first.headers.warning]);
    assert.deepEqual(await made(test, EVENTS), []);
  });

  it('refuses another body under the key', async () => {
    await using test = await startTestServer();
    assert.equal((await post(test, 'k', named('made'))).status, 201);
    for (const body of [named('made', { a: 'b' }), named('made-2')]) {
      const { status, body: answer } = await post(test, 'k', body);
      assert.deepEqual([status, answer.details?.causes?.[0]?.reason], [422, 'IdempotencyKeyReused']);
    }
    assert.equal((await made(test))?.length, 1);
  });

  it('knows a key for one identity and one path', async () => {
    await using test = await startTestServer();
    const other: Identity = { ...OPERATOR, user: 'other' };
    const remade: Identity = { ...OPERATOR, uid: 'another' };
    const event = { metadata: { generateName: 'made-' }, involvedObject: { namespace: 'coppice-system' } };
    const names = new Set<unknown>();
    for (const identity of [OPERATOR, other, remade])
      names.add((await post(test, 'k', generated, { identity })).body.metadata?.name);
    for (const namespace of ['default', 'coppice-system']) {
      const body = { ...event, involvedObject: { namespace } };
      names.add((await post(test, 'k', body, { url: `/api/v1/namespaces/${namespace}/events` })).body.metadata?.name);
    }
    assert.equal(names.size, 5);
    const slashes = await post(test, 'k', generated, { url: '//api/v1/namespaces/' });
    assert.equal(slashes.headers['idempotency-replayed'], 'true', 'however the path is written');
  });

  it('keeps neither dry runs nor refusals', async () => {
    await using test = await startTestServer();
    const before = test.store.revision();
    const dry = { url: `${NAMESPACES}?dryRun=All` };
    assert.equal((await post(test, 'k', named('made'), dry)).status, 201);
    assert.equal((await post(test, 'k', named('Upper'))).status, 422);
    assert.equal(test.store.revision(), before);
    assert.equal((await post(test, 'k', named('made'))).headers['idempotency-replayed'], undefined);
    const after = test.store.revision();
    assert.equal((await post(test, 'k', named('other'), dry)).status, 201, 'a dry run asks nobody');
    assert.equal(test.store.revision(), after);
    assert.equal((await post(test, 'k2', named('made'))).status, 409);
    assert.equal(await kept(test.store), 2);
  });

  it('refuses keys that are none', async () => {
    await using test = await startTestServer();
    for (const key of ['', ' ', 'ä', 'x'.repeat(256), 'a\nb'])
      assert.equal((await post(test, key, named('made'))).status, 400, JSON.stringify(key));
    assert.equal((await post(test, 'x'.repeat(255), named('made'))).status, 201);
  });

  it('is one write of many at once, with one answer', async () => {
    await using store = await MemoryStore.open({ ids: systemIds });
    const shapes: Record<string, Store[]> = {
      staged: [store],
      'two servers': [store, store],
      far: [new FarStore(store, () => 1), new FarStore(store, () => 2)],
    };
    for (const [shape, stores] of Object.entries(shapes)) {
      await using ended = new AsyncDisposableStack();
      const tests = await Promise.all(stores.map((one) => startTestServer({ store: one })));
      for (const test of tests) ended.use(test);
      const answers = await Promise.all(
        Array.from({ length: 16 }, (_, i) => post(tests[i % tests.length] as TestServer, `key of ${shape}`, generated)),
      );
      assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201]), shape);
      assert.equal(new Set(answers.map(versionOf)).size, 1, shape);
      assert.equal(answers.filter(({ headers }) => headers['idempotency-replayed'] === undefined).length, 1, shape);
    }
    assert.equal(await kept(store), 6);
  });

  it('of one body, others of another come too late', async () => {
    await using test = await startTestServer();
    const answers = await Promise.all(Array.from({ length: 8 }, (_, i) => post(test, 'k', named(`made-${i}`))));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 422, 422, 422, 422, 422, 422, 422]);
    assert.equal((await made(test))?.length, 1);
  });

  it('that the store undoes is made by the next', async () => {
    let full = false;
    const beforeCommit = () => (full ? 'NoSpace' : undefined);
    await using store = await MemoryStore.open({ ids: systemIds, beforeCommit });
    await using test = await startTestServer({ store });
    full = true;
    const lost = await Promise.all([post(test, 'k', generated), post(test, 'k', generated)]);
    assert.deepEqual(
      lost.map(({ status }) => status),
      [507, 507],
    );
    full = false;
    const answers = await Promise.all([post(test, 'k', generated), post(test, 'k', generated)]);
    assert.deepEqual(answers[0].body, answers[1].body);
    assert.equal((await made(test))?.length, 1);
  });

  it('is remembered across a restart', async () => {
    await using home = await StoreHome.make();
    const answers: unknown[] = [];
    for (let i = 0; i < 2; i++) {
      {
        await using test = await startTestServer({ store: await home.open() });
        answers.push((await post(test, 'k', generated)).body);
        assert.equal((await made(test))?.length, 1);
      }
      await home.close();
    }
    assert.deepEqual(answers[0], answers[1]);
  });

  it('is forgotten after 24 hours, and cleaned up', async () => {
    const clock = new ManualClock();
    await using test = await startTestServer({ clock });
    const signal = AbortSignal.timeout(10_000);
    const clean = () => forgetDue({ store: test.store, codec: test.server.parts.cache.codec, clock }, signal);
    const first = await post(test, 'old', generated);
    await post(test, 'idle', generated);
    await clock.advance(KEPT_MS - 1);
    await clean();
    assert.deepEqual((await post(test, 'old', generated)).body, first.body);
    await clock.advance(1);
    const second = await post(test, 'old', generated);
    assert.deepEqual([second.status, second.headers['idempotency-replayed']], [201, undefined]);
    assert.notEqual(versionOf(second), versionOf(first));
    await clean();
    assert.equal(await kept(test.store), 2, 'only the new answer and its due date are left');
    assert.deepEqual((await post(test, 'old', generated)).body, second.body);
    await clock.advance(KEPT_MS);
    await clean();
    assert.equal(await kept(test.store), 0);
    assert.equal((await post(test, 'old', generated)).headers['idempotency-replayed'], undefined);
  });

  it('is cleaned up by the server itself', async () => {
    const clock = new ManualClock();
    await using test = await startTestServer({ clock });
    await post(test, 'k', generated);
    await clock.advance(KEPT_MS);
    await eventually(clock, 'cleaned up', async () => (await kept(test.store)) === 0);
  });

  it('is bounded, in size and in number', async () => {
    await using test = await startTestServer();
    const large = {
      metadata: { name: 'made' },
      involvedObject: { namespace: 'default' },
      message: 'x'.repeat(MAX_KEPT_BYTES),
    };
    const refused = await post(test, 'k', large, { url: EVENTS });
    assert.deepEqual([refused.status, refused.body.reason], [413, 'RequestEntityTooLarge']);
    assert.equal((await post(test, undefined, large, { url: EVENTS })).status, 201);
    const { shelf } = keptName(OPERATOR, { method: 'POST', path: NAMESPACES, key: 'k', body: new Uint8Array() });
    for (let i = 0; i < MAX_KEPT_ANSWERS; i += 100) {
      const puts = Array.from({ length: 100 }, (_, j) => ({ key: `${shelf}${i + j}`, value: new Uint8Array([0x0a]) }));
      await test.store.txn({ compares: [], puts, deletes: [] }).done;
    }
    const full = await post(test, 'one too many', generated);
    assert.deepEqual([full.status, full.headers['retry-after']], [429, '60']);
    assert.equal((await post(test, 'k', generated, { identity: { ...OPERATOR, user: 'other' } })).status, 201);
    assert.equal((await post(test, undefined, generated)).status, 201);
  });
});
