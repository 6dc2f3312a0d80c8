import assert from 'node:assert/strict';
import { newServiceAccountKey } from '../../../apiserver/pki/service-account-key.ts';
import { MemoryStore } from '../../../apiserver/store/memory/store.ts';
import type { Store } from '../../../apiserver/store/store.ts';
import type { Logger } from '../../../resources/ambient/log.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';
import { CutProxy } from '../../harness/cut-proxy.ts';
import { pairOn } from '../../harness/etcd-pair.ts';
import { EtcdServer, needEtcd } from '../../harness/etcd-server.ts';
import { RawWatch, send } from '../../harness/raw.ts';
import { startTestServer } from '../../harness/server.ts';
import { until } from '../../harness/until.ts';
import { CRDS, definition, THING_CRD, THINGS, thing } from '../crds/crd-server.ts';

const EVENTS = '/api/v1/namespaces/default/events';
const EVENT_KEYS = 'objects/core/events/';
const MERGE = { 'content-type': 'application/merge-patch+json' };
const KEY = newServiceAccountKey();
const event = (name: string) => ({ metadata: { name }, involvedObject: { namespace: 'default' } });

describe('two servers are one control plane', function () {
  this.timeout(120_000);
  let etcd: EtcdServer;

  before(function () {
    needEtcd(this);
  });
  beforeEach(async () => {
    etcd = await EtcdServer.start();
  });
  afterEach(() => etcd?.[Symbol.asyncDispose]());

  for (const seed of [1, 2, 3, 4])
    it(`to a watcher that goes from one to the other at every turn: each event once, in order (seed ${seed})`, async () => {
      await using pair = await pairOn(etcd);
      const from = String((await send(pair.app(seed), 'GET', EVENTS)).body.metadata?.resourceVersion);
      const writing = Promise.all([0, 1, 2].map((writer) => writeThrough(pair.app, writer, 40)));
      const last = writing.then(() => send(pair.app(0), 'POST', EVENTS, { body: event('last') }));
      const seen: string[] = [];
      let version = from;
      for (let turn = seed; !seen.some((line) => line.startsWith('ADDED last ')); turn++) {
        const url = `${EVENTS}?watch=1&resourceVersion=${version}`;
        await using watch = await RawWatch.open(pair.app(turn), url);
        // Of some it takes many before it goes, of others one.
        for (let left = 1 + ((turn * 7 + seed) % 5); left > 0; left--) {
          const told = await watch.next();
          assert.ok(told !== undefined, 'the watch ended');
          version = String(told.object.metadata?.resourceVersion);
          seen.push(`${told.type} ${told.object.metadata?.name} ${version}`);
          if (told.object.metadata?.name === 'last') break;
        }
      }
      await last;
      assert.deepEqual(seen, await storyOf(pair.stores[0], Number(from)));
      assert.ok(seen.length > 200, String(seen.length));
    });

  it('when one lags: it waits for a version that it has not seen, and says so when it does not come', async () => {
    await using proxy = await CutProxy.start(Number(new URL(etcd.endpoint).port));
    await using pair = await pairOn(etcd, { endpoints: [`127.0.0.1:${proxy.port}`] });
    const [near, far] = [pair.app(0), pair.app(1)];
    proxy.holdAnswers();
    const { body } = await send(near, 'POST', EVENTS, { body: event('new') });
    const version = String(body.metadata?.resourceVersion);
    let answered = false;
    const listed = send(far, 'GET', `${EVENTS}?resourceVersion=${version}&resourceVersionMatch=NotOlderThan`);
    void listed.then(() => (answered = true));
    const watched = RawWatch.open(far, `${EVENTS}?watch=1&resourceVersion=${version}`);
    await send(near, 'GET', EVENTS);
    assert.equal(answered, false, 'it answered with what it had');
    proxy.cut();
    assert.deepEqual(
      (await listed).body.items?.map(({ metadata }) => metadata.name),
      ['new'],
    );
    await using watch = await watched;
    await send(near, 'POST', EVENTS, { body: event('newer') });
    assert.equal((await watch.next())?.object.metadata?.name, 'newer');
    const future = await send(far, 'GET', `${EVENTS}?resourceVersion=${Number(version) + 1_000}`);
    assert.deepEqual([future.status, future.body.details?.causes?.[0]?.reason], [504, 'ResourceVersionTooLarge']);
  });

  it('to a pager that goes from one to the other: one list, and where history is gone, a token to go on with', async () => {
    await using pair = await pairOn(etcd);
    for (let i = 10; i < 40; i++) await send(pair.app(i), 'POST', EVENTS, { body: event(`e${i}`) });
    const names: string[] = [];
    let token: string | undefined = '';
    let versions = new Set<unknown>();
    for (let page = 0; token !== undefined; page++) {
      const { status, body, text } = await send(pair.app(page), 'GET', `${EVENTS}?limit=4&continue=${token}`);
      assert.equal(status, 200, text);
      names.push(...(body.items ?? []).map(({ metadata }) => metadata.name));
      versions = versions.add(body.metadata?.resourceVersion);
      token = body.metadata?.continue as string | undefined;
      // What happens meanwhile is not in this list.
      await send(pair.app(page), 'DELETE', `${EVENTS}/e${39 - page}`);
      await send(pair.app(page + 1), 'POST', EVENTS, { body: event(`later-${page}`) });
    }
    assert.deepEqual(
      names,
      Array.from({ length: 30 }, (_, i) => `e${i + 10}`),
    );
    assert.equal(versions.size, 1);

    const first = await send(pair.app(0), 'GET', `${EVENTS}?limit=4`);
    await send(pair.app(0), 'POST', EVENTS, { body: event('zz') });
    await pair.stores[0].compact(pair.stores[0].revision());
    const gone = await send(pair.app(1), 'GET', `${EVENTS}?limit=4&continue=${first.body.metadata?.continue}`);
    assert.deepEqual([gone.status, gone.body.reason], [410, 'Expired']);
    const rest = await send(pair.app(1), 'GET', `${EVENTS}?continue=${gone.body.metadata?.continue}`);
    const all = [...(first.body.items ?? []), ...(rest.body.items ?? [])].map(({ metadata }) => metadata.name);
    const now = (await send(pair.app(0), 'GET', EVENTS)).body.items?.map(({ metadata }) => metadata.name);
    assert.deepEqual(all, now);
  });

  it('to creates under one Idempotency-Key, sent to both at once and one after the other', async () => {
    await using pair = await pairOn(etcd);
    const headers = { 'idempotency-key': 'order-7' };
    const body = { metadata: { generateName: 'made-' }, involvedObject: { namespace: 'default' } };
    const answers = await Promise.all([0, 1, 2, 3].map((i) => send(pair.app(i), 'POST', EVENTS, { body, headers })));
    answers.push(await send(pair.app(1), 'POST', EVENTS, { body, headers }));
    for (const { status, text } of answers) assert.equal(status, 201, text);
    assert.equal(new Set(answers.map((answer) => answer.body.metadata?.uid)).size, 1);
    assert.equal((await send(pair.app(0), 'GET', EVENTS)).body.items?.length, 1);
    const other = await send(pair.app(1), 'POST', EVENTS, { body: { ...body, reason: 'Other' }, headers });
    assert.equal(other.status, 422);
  });

  it('to definitions: what one is told to serve the other serves, and no longer when it is gone', async () => {
    await using pair = await pairOn(etcd);
    for (let round = 0; round < 4; round++) {
      const [here, there] = [pair.app(round), pair.app(round + 1)];
      assert.equal((await send(here, 'POST', CRDS, { body: definition() })).status, 201);
      assert.equal((await send(there, 'POST', THINGS, { body: thing(`t${round}`) })).status, 201);
      assert.equal((await send(here, 'GET', `${THINGS}/t${round}`)).status, 200);
      const { text } = await send(there, 'GET', '/apis/test.example.com/v1');
      assert.match(text, /"name":"things"/);
      await send(here, 'DELETE', `${THINGS}/t${round}`);
      assert.equal((await send(here, 'DELETE', THING_CRD)).status, 200);
      // As the duty does that has deleted what there was of it.
      await send(there, 'PATCH', THING_CRD, { body: { metadata: { finalizers: null } }, headers: MERGE });
      await until('the other serves it no more', async () => (await send(there, 'GET', THINGS)).status === 404);
    }
  });

  it('to the policy, and to tokens that are no longer good', async () => {
    await using pair = await pairOn(etcd, {}, { serviceAccountKey: KEY });
    const POLICY = '/apis/coppice.dev/v1/policies/default';
    for (let round = 0; round < 6; round++) {
      const body = { spec: { exclusiveLeasedHosts: round % 2 === 0 } };
      assert.equal((await send(pair.app(round), 'PATCH', POLICY, { body, headers: MERGE })).status, 200);
      const read = await send(pair.app(round + 1), 'GET', POLICY);
      assert.equal(read.body.spec?.exclusiveLeasedHosts, round % 2 === 0);
    }
    const accounts = '/api/v1/namespaces/default/serviceaccounts';
    assert.equal((await send(pair.app(0), 'POST', accounts, { body: { metadata: { name: 'ci' } } })).status, 201);
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
    const minted = await send(pair.app(0), 'POST', `${accounts}/ci/token`, { body: review });
    const bearer = String((minted.body.status as { token?: string } | undefined)?.token);
    const credential = { kind: 'wire', bearer } as const;
    const use = async (i: number) => (await send(pair.app(i), 'GET', EVENTS, { credential })).status;
    assert.deepEqual([await use(0), await use(1)], [200, 200]);
    assert.equal((await send(pair.app(1), 'DELETE', `${accounts}/ci`)).status, 200);
    assert.equal(await use(1), 401);
    await until('the first knows', async () => (await use(0)) === 401);
  });
});

describe('servers that start at once', () => {
  for (const count of [2, 5])
    it(`${count} of them make what every store has once, and complain of nothing`, async () => {
      await using store = await MemoryStore.open({ ids: systemIds });
      const said: string[] = [];
      const log = shouting(said);
      const starting = Array.from({ length: count }, (_, i) => startTestServer({ store, log, name: `s${i}` }));
      const servers = await Promise.all(starting);
      const revision = store.revision();
      assert.deepEqual(said, []);
      const alone = await MemoryStore.open({ ids: systemIds });
      await using single = await startTestServer({ store: alone });
      const made = async (from: Store) =>
        (await from.range({ prefix: '' })).entries.map(({ key }) => key).filter((key) => key.startsWith('objects/'));
      assert.deepEqual(await made(store), await made(alone));
      for (const kind of ['namespaces', 'customresourcedefinitions'])
        assert.ok(
          (await made(store)).some((key) => key.includes(`/${kind}/`)),
          kind,
        );
      // A later start finds all of it, and writes nothing.
      await using _late = await startTestServer({ store, log, name: 'late' });
      assert.equal(store.revision(), revision);
      assert.deepEqual(said, []);
      for (const server of servers) await server[Symbol.asyncDispose]();
      await single.server.parts.cache.caughtUp(AbortSignal.timeout(5_000));
    });
});

/** Creates, changes and deletes events, each by another server than the last. */
async function writeThrough(app: (i: number) => Parameters<typeof send>[0], writer: number, count: number) {
  for (let i = 0; i < count; i++) {
    const name = `w${writer}-${i}`;
    await send(app(i), 'POST', EVENTS, { body: event(name) });
    await send(app(i + writer), 'PATCH', `${EVENTS}/${name}`, { body: { reason: `r${i}` }, headers: MERGE });
    if (i % 2 === 0) await send(app(i + 1), 'DELETE', `${EVENTS}/${name}`);
  }
}

/** What happened to events after a revision, by the store itself. */
async function storyOf(store: Store, from: number): Promise<string[]> {
  const stop = new AbortController();
  const story: string[] = [];
  for await (const { revision, events } of store.watch(from, stop.signal)) {
    for (const each of events) {
      if (!each.key.startsWith(EVENT_KEYS)) continue;
      const type = each.type === 'delete' ? 'DELETED' : each.created ? 'ADDED' : 'MODIFIED';
      story.push(`${type} ${each.key.split('/').at(-1)} ${revision}`);
    }
    if (revision >= store.revision()) break;
  }
  return story;
}

/** Keeps every line above debug that is an error. */
function shouting(said: string[]): Logger {
  const log: Logger = {
    debug: () => {},
    info: () => {},
    error: (message, fields) => said.push(`${message} ${JSON.stringify(fields ?? {})}`),
    child: () => log,
  };
  return log;
}
