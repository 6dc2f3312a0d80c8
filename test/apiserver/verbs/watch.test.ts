import assert from 'node:assert/strict';
import fc from 'fast-check';
import { MemoryStore } from '../../../apiserver/store/memory/store.ts';
import { ManualClock } from '../../../resources/ambient/manual-clock.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';
import { WIDGET } from '../../builders/widget.ts';
import { quiesce } from '../../harness/eventually.ts';
import { type RawEvent, RawWatch, rawRequest, send } from '../../harness/raw.ts';
import { startTestServer } from '../../harness/server.ts';
import { MERGE, WIDGETS, WidgetServer, widget } from './widget-server.ts';

const TABLE = { headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' } };
const PARTIAL = { headers: { accept: 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io' } };

const told = (events: readonly RawEvent[]) => events.map(({ type, object }) => `${type} ${object.metadata?.name}`);
const listeners = (server: WidgetServer) =>
  server.test.server.parts.cache.resource('demo.example.com/widgets').listeners;

describe('watch', () => {
  let server: WidgetServer;
  let clock: ManualClock;
  const open = (query = '', wish = {}) => RawWatch.open(server.app, `${WIDGETS}?watch=1${query}`, wish);
  beforeEach(async () => {
    clock = new ManualClock();
    server = await WidgetServer.start({ clock });
  });
  afterEach(() => server[Symbol.asyncDispose]());

  it('begins with what there is when no version is given, and goes on with what happens', async () => {
    await server.make('a');
    for (const query of ['', '&resourceVersion=0']) {
      await using watch = await open(query);
      assert.deepEqual(told(await watch.take(1)), ['ADDED a']);
    }
    await using watch = await open();
    await watch.take(1);
    await server.make('b');
    await server.ok('PATCH', `${WIDGETS}/b`, { spec: { color: 'red' } }, MERGE);
    const gone = await server.ok('DELETE', `${WIDGETS}/b`);
    const events = await watch.take(3);
    assert.deepEqual(told(events), ['ADDED b', 'MODIFIED b', 'DELETED b']);
    assert.equal(events[2]?.object.metadata?.uid, gone.details?.uid);
    assert.equal(
      events[2]?.object.metadata?.resourceVersion,
      String(server.revision),
      'a removal has the revision of the removal',
    );
    assert.equal(events[2]?.object.spec?.color, 'red');
  });

  it('is told to come again by a server that stops, and not begun to be cut off at once', async () => {
    const { metadata } = await server.ok('GET', WIDGETS);
    await server.test.server.endStreams();
    const refused = await send(server.app, 'GET', `${WIDGETS}?watch=1&resourceVersion=${metadata.resourceVersion}`);
    assert.deepEqual([refused.status, refused.body.details?.retryAfterSeconds], [503, 1]);
    assert.equal((await send(server.app, 'GET', WIDGETS)).status, 200);
  });

  it('from a list’s version misses nothing and repeats nothing', async () => {
    await server.make('a');
    const { metadata } = await server.ok('GET', WIDGETS);
    await server.make('b');
    await server.ok('DELETE', `${WIDGETS}/a`);
    await using watch = await open(`&resourceVersion=${metadata.resourceVersion}`);
    await server.make('c');
    assert.deepEqual(told(await watch.take(3)), ['ADDED b', 'DELETED a', 'ADDED c']);
  });

  it('from a version that nothing happened to its kind since is told nothing, also of a kind never written', async () => {
    await server.ok('POST', '/api/v1/namespaces', { metadata: { name: 'unrelated' } });
    await using watch = await open('&resourceVersion=1');
    await server.make('first');
    assert.deepEqual(told(await watch.take(1)), ['ADDED first']);
  });

  it('tells entering a selection as ADDED and leaving it as DELETED, as it last matched', async () => {
    await server.make('w', { metadata: { labels: { in: 'no' } } });
    await using watch = await open('&labelSelector=in%3Dyes');
    await server.ok('PATCH', `${WIDGETS}/w`, { metadata: { labels: { in: 'yes' } } }, MERGE);
    await server.ok('PATCH', `${WIDGETS}/w`, { spec: { color: 'red' } }, MERGE);
    const left = await server.ok(
      'PATCH',
      `${WIDGETS}/w`,
      { metadata: { labels: { in: 'no' } }, spec: { color: 'blue' } },
      MERGE,
    );
    await server.ok('PATCH', `${WIDGETS}/w`, { spec: { color: 'green' } }, MERGE);
    await server.ok('DELETE', `${WIDGETS}/w`);
    await server.make('end', { metadata: { labels: { in: 'yes' } } });
    const events = await watch.take(4);
    assert.deepEqual(told(events), ['ADDED w', 'MODIFIED w', 'DELETED w', 'ADDED end']);
    const last = events[2]?.object;
    assert.deepEqual(
      [last?.spec?.color, last?.metadata?.labels, last?.metadata?.resourceVersion],
      ['red', { in: 'yes' }, left.metadata.resourceVersion],
    );
  });

  it('is of one namespace, or of one name', async () => {
    await server.ok('POST', '/api/v1/namespaces', { metadata: { name: 'demo-2' } });
    await using one = await open('&fieldSelector=metadata.name%3Db');
    await server.ok('POST', WIDGETS.replace('/demo/', '/demo-2/'), widget('b'));
    await server.make('a');
    await server.make('b');
    const [event] = await one.take(1);
    assert.deepEqual([event?.object.metadata?.name, event?.object.metadata?.namespace], ['b', 'demo']);
  });

  it('comes as tables, their columns once, and as metadata', async () => {
    await server.make('a');
    await using tables = await open('', TABLE);
    await using partial = await open('', PARTIAL);
    await server.make('b');
    const [first, second] = await tables.take(2);
    assert.ok((first?.object.columnDefinitions?.length ?? 0) > 2);
    assert.ok((second?.object.columnDefinitions ?? []).length === 0);
    assert.deepEqual([first?.object.kind, first?.object.rows?.length], ['Table', 1]);
    const [meta] = await partial.take(1);
    assert.deepEqual(
      [meta?.object.kind, meta?.object.spec, meta?.object.metadata?.name],
      ['PartialObjectMetadata', undefined, 'a'],
    );
  });

  it('has the columns in the first table told, though later events happened before it was read', async () => {
    await server.make('a');
    await using tables = await open('', TABLE);
    await server.make('b');
    await quiesce();
    const [first, second] = await tables.take(2);
    assert.ok((first?.object.columnDefinitions?.length ?? 0) > 2);
    assert.ok((second?.object.columnDefinitions ?? []).length === 0);
  });

  it('encodes an event once for all who watch in the same form, leaving a selection too', async () => {
    await server.make('w', { metadata: { labels: { in: 'yes' } } });
    const from = server.revision;
    await server.ok('PATCH', `${WIDGETS}/w`, { metadata: { labels: { in: 'no' } } }, MERGE);
    const bytes = async (wish = {}) => {
      const { body } = await server.app(
        rawRequest('GET', `${WIDGETS}?watch=1&resourceVersion=${from}&labelSelector=in%3Dyes`, wish),
      );
      assert.ok(!(body instanceof Uint8Array));
      for await (const piece of body) return Buffer.from(piece);
      return undefined;
    };
    await bytes();
    await bytes(PARTIAL);
    await bytes();
    const [event] = server.test.server.parts.cache.resource('demo.example.com/widgets').since(from) ?? [];
    assert.deepEqual([...(event?.encoded.keys() ?? [])].sort(), [
      'demo.example.com/v1/Object/Metadata/DELETED',
      'demo.example.com/v1/PartialObjectMetadata/Metadata/DELETED',
    ]);
    const marked = Buffer.from('{"type":"MARKED"}\n');
    event?.encoded.set('demo.example.com/v1/Object/Metadata/DELETED', marked);
    assert.equal(String(await bytes()), String(marked), 'it was encoded anew');
  });

  describe('bookmarks', () => {
    it('come within a second of the store’s moving, once a burst, with the revision all before it was told at', async () => {
      await using watch = await open(`&resourceVersion=${server.revision}&allowWatchBookmarks=true`);
      for (const name of ['x', 'y', 'z']) await server.ok('POST', '/api/v1/namespaces', { metadata: { name } });
      await clock.advance(1_000);
      const [bookmark] = await watch.take(1);
      assert.deepEqual(
        [bookmark?.type, bookmark?.object.kind, bookmark?.object.metadata?.resourceVersion],
        ['BOOKMARK', 'Widget', String(server.revision)],
      );
      await clock.advance(10_000);
      await server.make('a');
      assert.deepEqual(told(await watch.take(1)), ['ADDED a'], 'nothing moved, nothing was told');
    });

    it('come to who goes on from an earlier revision, though nothing moves any more', async () => {
      const from = server.revision;
      await server.ok('POST', '/api/v1/namespaces', { metadata: { name: 'x' } });
      await using watch = await open(`&resourceVersion=${from}&allowWatchBookmarks=true`);
      await clock.advance(1_000);
      const [bookmark] = await watch.take(1);
      assert.equal(bookmark?.type, 'BOOKMARK');
      assert.equal(bookmark?.object.metadata?.resourceVersion, String(server.revision));
    });

    it('come only to those who asked', async () => {
      await using watch = await open(`&resourceVersion=${server.revision}`);
      await server.ok('POST', '/api/v1/namespaces', { metadata: { name: 'x' } });
      await clock.advance(5_000);
      await server.make('a');
      assert.deepEqual(told(await watch.take(1)), ['ADDED a']);
    });

    it('have the form that was asked for', async () => {
      await using tables = await open('&allowWatchBookmarks=true', TABLE);
      await using partial = await open('&allowWatchBookmarks=true', PARTIAL);
      await server.ok('POST', '/api/v1/namespaces', { metadata: { name: 'x' } });
      await clock.advance(1_000);
      assert.equal((await tables.take(1))[0]?.object.kind, 'Table');
      assert.equal((await partial.take(1))[0]?.object.kind, 'PartialObjectMetadata');
    });
  });

  describe('a streaming list', () => {
    const STREAMED = '&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';

    it('tells what there is, then where that ends, then what happens', async () => {
      await server.make('a');
      const at = server.revision;
      await using watch = await open(STREAMED);
      await server.make('b');
      const [a, end, b] = await watch.take(3);
      assert.deepEqual(told([a as RawEvent, b as RawEvent]), ['ADDED a', 'ADDED b']);
      assert.deepEqual(
        [end?.type, end?.object.metadata?.annotations],
        ['BOOKMARK', { 'k8s.io/initial-events-end': 'true' }],
      );
      assert.equal(end?.object.metadata?.resourceVersion, String(at));
    });

    it('is told only what happens when it wants no initial events', async () => {
      await server.make('a');
      await using watch = await open('&sendInitialEvents=false&resourceVersionMatch=NotOlderThan');
      await server.make('b');
      assert.deepEqual(told(await watch.take(1)), ['ADDED b']);
    });

    it('needs NotOlderThan, which needs it', async () => {
      for (const query of [
        'sendInitialEvents=true',
        'sendInitialEvents=true&resourceVersionMatch=Exact',
        'resourceVersionMatch=NotOlderThan',
      ]) {
        assert.equal((await server.send('GET', `${WIDGETS}?watch=1&${query}`)).status, 422, query);
      }
    });
  });

  it('ends by itself after timeoutSeconds, or after half an hour to an hour', async () => {
    await using short = await open('&timeoutSeconds=5');
    await using huge = await open('&timeoutSeconds=9999999999');
    await using usual = await open();
    await clock.advance(5_000);
    assert.equal(await short.next(), undefined);
    await clock.advance(46 * 60_000);
    assert.equal(await usual.next(), undefined);
    await server.make('a');
    assert.deepEqual(told(await huge.take(1)), ['ADDED a']);
  });

  it('that is read too slowly is ended, and what it was told before has no gap', async () => {
    const from = server.revision;
    await using watch = await open(`&resourceVersion=${from}`);
    const big = { metadata: { annotations: { big: 'x'.repeat(200_000) } } };
    for (let i = 0; i < 50; i++) await server.make(`w${i}`, big);
    const events = await watch.rest();
    assert.ok(events.length > 30 && events.length < 50, `${events.length} events`);
    const revisions = events.map(({ object }) => Number(object.metadata?.resourceVersion));
    assert.deepEqual(
      revisions,
      revisions.map((_, i) => from + 1 + i),
    );
  });

  it('may begin with more than may wait in its queue', async function () {
    this.timeout(20_000);
    const big = { metadata: { annotations: { big: 'x'.repeat(200_000) } } };
    for (let i = 0; i < 50; i++) await server.make(`w${i}`, big);
    await using watch = await open();
    assert.equal((await watch.take(50)).length, 50);
  });

  it('from before the history there is says 410, and from compacted history after a restart', async () => {
    const store = await MemoryStore.open({ ids: systemIds });
    const first = await startTestServer({ store, kinds: [WIDGET] });
    await send(first.server.app, 'POST', '/api/v1/namespaces', { body: { metadata: { name: 'demo' } } });
    for (const name of ['a', 'b', 'c']) await send(first.server.app, 'POST', WIDGETS, { body: widget(name) });
    const resumable = store.revision() - 2;
    await first[Symbol.asyncDispose]();

    await using second = await startTestServer({ store, kinds: [WIDGET] });
    await using resumed = await RawWatch.open(second.server.app, `${WIDGETS}?watch=1&resourceVersion=${resumable}`);
    assert.deepEqual(told(await resumed.take(2)), ['ADDED b', 'ADDED c'], 'a restart keeps watches resumable');
    await store.compact(store.revision());
    await using third = await startTestServer({ store, kinds: [WIDGET] });
    await using late = await RawWatch.open(third.server.app, `${WIDGETS}?watch=1&resourceVersion=${resumable}`);
    const events = await late.rest();
    assert.deepEqual(
      events.map(({ type, object }) => [type, object.code, object.reason]),
      [['ERROR', 410, 'Expired']],
    );
  });

  it('lets go of everything when its reader leaves, before the first piece or after, and when the server stops', async () => {
    const before = [listeners(server), clock.waiting];
    const read = await open('&allowWatchBookmarks=true');
    const stop = new AbortController();
    await server.app(rawRequest('GET', `${WIDGETS}?watch=1`, { signal: stop.signal }));
    const client = server.test.client.resource(WIDGET, 'demo');
    const returned = await client.watch({}, new AbortController().signal);
    assert.equal(listeners(server), (before[0] ?? 0) + 3);
    await read[Symbol.asyncDispose]();
    stop.abort();
    await returned[Symbol.asyncIterator]().return?.();
    const unread = await server.test.client.stream({ method: 'GET', path: `${WIDGETS}?watch=1` });
    await unread[Symbol.asyncIterator]().return?.();
    await quiesce();
    await clock.advance(2_000);
    assert.ok(
      listeners(server) <= (before[0] ?? 0) + 1,
      'a generator that was never begun cannot know that it is not wanted',
    );
    const left = await open();
    await server.test.server[Symbol.asyncDispose]();
    assert.equal(await left.next(), undefined);
    assert.equal(listeners(server), 0);
  });

  it('and list agree, whatever was written: replaying a watch over any list gives the last one', async function () {
    this.timeout(30_000);
    const step = fc.record({
      name: fc.constantFrom('a', 'b', 'c', 'd'),
      act: fc.constantFrom('make', 'paint', 'label', 'remove'),
      value: fc.nat({ max: 2 }),
      list: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
        await using fresh = await WidgetServer.start();
        const selector = 'labelSelector=v!%3D1';
        const state = async () => {
          const body = (await fresh.send('GET', `${WIDGETS}?${selector}`)).body;
          return {
            version: String(body.metadata?.resourceVersion),
            objects: new Map(body.items?.map((item) => [item.metadata.name, item])),
          };
        };
        const lists = [await state()];
        for (const { name, act, value, list } of steps) {
          if (act === 'make')
            await fresh.send('POST', WIDGETS, widget(name, { metadata: { labels: { v: `${value}` } } }));
          else if (act === 'remove') await fresh.send('DELETE', `${WIDGETS}/${name}`);
          else {
            const patch = act === 'paint' ? { spec: { replicas: value } } : { metadata: { labels: { v: `${value}` } } };
            await fresh.send('PATCH', `${WIDGETS}/${name}`, patch, MERGE);
          }
          if (list) lists.push(await state());
        }
        await fresh.make('the-end');
        const last = await state();
        for (const { version, objects } of lists) {
          await using watch = await RawWatch.open(
            fresh.app,
            `${WIDGETS}?watch=1&${selector}&resourceVersion=${version}`,
          );
          for (let seen = Number(version); !objects.has('the-end'); ) {
            const [event] = await watch.take(1);
            const { metadata } = event?.object ?? {};
            assert.ok(Number(metadata?.resourceVersion) > seen, 'revisions rise');
            seen = Number(metadata?.resourceVersion);
            const name = String(metadata?.name);
            if (event?.type === 'DELETED') assert.ok(objects.delete(name), 'removed what it was never told of');
            else objects.set(name, event?.object as never);
          }
          assert.deepEqual([...objects].sort(), [...last.objects].sort());
        }
      }),
      { numRuns: 25, seed: 7 },
    );
  });
});
