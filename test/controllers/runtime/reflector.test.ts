import assert from 'node:assert/strict';
import { ApiClient } from '../../../apiserver/client/client.ts';
import type { ApiRequest, ApiResponse } from '../../../apiserver/client/transport.ts';
import { Cache } from '../../../controllers/runtime/cache.ts';
import { Reflector } from '../../../controllers/runtime/reflector.ts';
import { ManualClock } from '../../../resources/ambient/manual-clock.ts';
import { CoordinationLease } from '../../../resources/kinds/coordination-lease.ts';
import { eventually, quiesce } from '../../harness/eventually.ts';
import { FakeServer } from '../../harness/fake-server.ts';

const NS = 'coppice-system';

function aSetup() {
  const clock = new ManualClock();
  const server = new FakeServer(clock);
  const cache = new Cache<CoordinationLease>();
  const requests: ApiRequest[] = [];
  let answer: ((request: ApiRequest) => ApiResponse | undefined) | undefined;
  const inner = server.transport('informers');
  const client = new ApiClient(async (request) => {
    requests.push(request);
    return answer?.(request) ?? (await inner(request));
  });
  const resource = client.resource<CoordinationLease>(CoordinationLease);
  const reflector = new Reflector({ resource, cache, clock, random: () => 0 });
  const stop = new AbortController();
  let running = Promise.resolve();
  const add = (name: string) =>
    server.resource<CoordinationLease>(CoordinationLease, NS).create(lease(name)) as Promise<CoordinationLease>;
  return {
    clock,
    server,
    cache,
    requests,
    reflector,
    add,
    start() {
      running = reflector.run(stop.signal);
    },
    answerWith(next: typeof answer) {
      answer = next;
    },
    lists: () => requests.filter((r) => !r.path.includes('watch=true')),
    names: () => [...cache.list()].map((l) => l.metadata.name).sort(),
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
    },
  };
}

const lease = (name: string) => ({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name } });
const isWatch = (request: ApiRequest) => request.path.includes('watch=true');

function streamOf(...pieces: (string | Error)[]): ApiResponse {
  return {
    status: 200,
    headers: {},
    body: (async function* () {
      for (const piece of pieces) {
        if (piece instanceof Error) throw piece;
        yield new TextEncoder().encode(piece);
      }
    })(),
  };
}

describe('the reflector', () => {
  it('lists in pages, shows nothing before the last, and then follows', async () => {
    await using it = aSetup();
    for (let i = 0; i < 1100; i++) await it.add(`l-${i}`);
    it.start();
    await eventually(it.clock, 'synced', () => it.cache.synced);
    assert.equal(it.cache.size, 1100);
    assert.deepEqual(
      it.lists().map((r) => /limit=500/.test(r.path)),
      [true, true, true],
    );
    await it.add('later');
    await eventually(it.clock, 'followed', () => it.cache.get(`${NS}/later`) !== undefined);
    await it.server.resource(CoordinationLease, NS).delete('l-5');
    await eventually(it.clock, 'removed', () => it.cache.get(`${NS}/l-5`) === undefined);
    assert.equal(it.lists().length, 3);
  });

  it('begins the list again when the connection breaks between pages, and never shows half of it', async () => {
    await using it = aSetup();
    for (let i = 0; i < 600; i++) await it.add(`l-${i}`);
    let broken = 0;
    const sizes = new Set<number>();
    it.cache.subscribe(() => sizes.add(it.cache.size));
    it.answerWith((request) => {
      if (!request.path.includes('continue=') || broken++ > 0) return undefined;
      throw new Error('connection reset');
    });
    it.start();
    await eventually(it.clock, 'synced', () => it.cache.synced);
    assert.deepEqual([...sizes], [600]);
    assert.equal(it.lists().length, 4);
    assert.match(it.reflector.health.lastError?.message ?? '', /connection reset/);
  });

  it('asks for all at once when a page expired under it', async () => {
    await using it = aSetup();
    for (let i = 0; i < 600; i++) await it.add(`l-${i}`);
    it.answerWith((request) => {
      if (request.path.includes('continue=')) it.server.compact();
      return undefined;
    });
    await it.add('one-more');
    it.start();
    await eventually(it.clock, 'synced', () => it.cache.synced);
    assert.equal(it.cache.size, 601);
  });

  it('lists again when its version is too old, and so learns of what vanished meanwhile', async () => {
    await using it = aSetup();
    await it.add('a');
    await it.add('b');
    it.start();
    await eventually(it.clock, 'synced', () => it.cache.synced);
    await quiesce();
    it.answerWith((request) => {
      if (isWatch(request)) throw new Error('down');
      return undefined;
    });
    it.server.dropWatches();
    await quiesce();
    await it.server.resource(CoordinationLease, NS).delete('a');
    await it.add('c');
    it.server.compact();
    it.answerWith(undefined);
    await eventually(it.clock, 'caught up', () => it.names().join() === 'b,c');
    assert.equal(it.lists().length, 2);
  });

  it('takes up a broken stream where it left off: an event cut in half is neither lost nor taken twice', async () => {
    await using it = aSetup();
    const a = await it.add('a');
    it.start();
    await eventually(it.clock, 'watching', () => it.reflector.health.at === 'watching');
    await quiesce();
    const b = { ...a, metadata: { ...a.metadata, name: 'b', resourceVersion: '2' } };
    let cut = false;
    it.answerWith((request) => {
      if (!isWatch(request) || cut) return undefined;
      cut = true;
      return streamOf(JSON.stringify({ type: 'ADDED', object: b }).slice(0, 40));
    });
    let told = 0;
    it.cache.subscribe(() => told++);
    it.server.dropWatches();
    await it.add('b');
    await eventually(it.clock, 'caught up', () => it.names().join() === 'a,b');
    assert.equal(told, 1);
    assert.equal(it.lists().length, 1);
    assert.equal(it.requests.filter(isWatch).at(-1)?.path.includes('resourceVersion=1&'), true);
  });

  it('resumes from a bookmark', async () => {
    await using it = aSetup();
    await it.add('a');
    it.start();
    await eventually(it.clock, 'watching', () => it.reflector.health.at === 'watching');
    await quiesce();
    let sent = false;
    it.answerWith((request) => {
      if (!isWatch(request) || sent) return undefined;
      sent = true;
      const bookmark = { type: 'BOOKMARK', object: { metadata: { resourceVersion: '77' } } };
      return streamOf(`${JSON.stringify(bookmark)}\n`);
    });
    it.server.dropWatches();
    await eventually(it.clock, 'resumed', () => it.requests.at(-1)?.path.includes('resourceVersion=77') === true);
    assert.deepEqual(it.names(), ['a']);
  });

  it('goes on for ever over a server that is down, waits longer each time, says so, and recovers', async () => {
    await using it = aSetup();
    await it.add('a');
    it.answerWith(() => {
      throw new Error('refused');
    });
    it.start();
    await quiesce();
    const startedMs = it.clock.now();
    const before = it.requests.length;
    await eventually(it.clock, 'two hundred seconds', () => it.clock.now() - startedMs > 200_000, 1_000);
    const tries = it.requests.length - before;
    assert.ok(tries >= 8 && tries <= 16, `${tries} tries in 200 s`);
    assert.equal(it.reflector.health.synced, false);
    assert.ok(it.reflector.health.failures > 5);
    it.answerWith(undefined);
    await eventually(it.clock, 'recovered', () => it.cache.synced);
  });

  it('does not hammer a server that ends every watch at once', async () => {
    await using it = aSetup();
    it.answerWith((request) => (isWatch(request) ? streamOf() : undefined));
    it.start();
    await eventually(it.clock, 'a minute', () => it.clock.now() > Date.UTC(2026, 0, 1) + 60_000, 1_000);
    assert.ok(it.requests.length < 14, `${it.requests.length} requests in a minute`);
  });

  it('gives up a watch that says nothing long after its time', async () => {
    await using it = aSetup();
    it.start();
    await eventually(it.clock, 'watching', () => it.reflector.health.at === 'watching');
    await quiesce();
    const watches = () => it.requests.filter(isWatch).length;
    assert.equal(watches(), 1);
    await it.clock.advance(330_000);
    await eventually(it.clock, 'watching again', () => watches() === 2);
    assert.match(it.reflector.health.lastError?.message ?? '', /did not end/);
  });

  it('leaves nothing behind when it is stopped', async () => {
    const it = aSetup();
    it.start();
    await eventually(it.clock, 'watching', () => it.reflector.health.at === 'watching');
    await quiesce();
    await it[Symbol.asyncDispose]();
    assert.equal(it.clock.waiting, 0);
    assert.equal(it.reflector.health.at, 'stopped');
  });
});
