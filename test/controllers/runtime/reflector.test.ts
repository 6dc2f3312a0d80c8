import assert from 'node:assert/strict';
import { controllerIdentity } from '../../../apiserver/auth/identity.ts';
import { ApiClient } from '../../../apiserver/client/client.ts';
import type { ApiRequest, ApiResponse } from '../../../apiserver/client/transport.ts';
import { Cache } from '../../../controllers/runtime/cache.ts';
import { Reflector } from '../../../controllers/runtime/reflector.ts';
import { ManualClock } from '../../../resources/ambient/manual-clock.ts';
import { CoordinationLease } from '../../../resources/kinds/coordination-lease.ts';
import { ApiError } from '../../../resources/meta/api-error.ts';
import { eventually, quiesce } from '../../harness/eventually.ts';
import { startTestServer } from '../../harness/server.ts';
import { isWatch, refusal, streamOf, Wire } from '../../harness/wire.ts';

const NS = 'coppice-system';
const LEASES = CoordinationLease;

async function aSetup(keep?: (lease: CoordinationLease) => CoordinationLease) {
  const clock = new ManualClock();
  const test = await startTestServer({ clock });
  const cache = new Cache<CoordinationLease>();
  const wire = new Wire(test.server.transportFor(controllerIdentity('informers')));
  const resource = new ApiClient(wire.transport).resource<CoordinationLease>(LEASES);
  const some = keep === undefined ? {} : { keep };
  const reflector = new Reflector({ resource, cache, clock, random: () => 0, ...some });
  const stop = new AbortController();
  let running = Promise.resolve();
  const leases = test.client.resource<CoordinationLease>(LEASES, NS);
  return {
    clock,
    cache,
    wire,
    reflector,
    add: (name: string) =>
      leases.create({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name }, spec: {} }),
    remove: (name: string) => leases.delete(name),
    async addMany(count: number) {
      for (let i = 0; i < count; i++) await this.add(`l-${i}`);
    },
    start() {
      running = reflector.run(stop.signal);
    },
    async synced() {
      this.start();
      await eventually(clock, 'watching', () => reflector.health.at === 'watching');
      await quiesce();
    },
    lists: () => wire.requests.filter((r) => !isWatch(r)),
    names: () => [...cache.list()].map((l) => l.metadata.name).sort(),
    async stop() {
      stop.abort();
      await running;
    },
    async [Symbol.asyncDispose]() {
      await this.stop();
      await test[Symbol.asyncDispose]();
    },
  };
}

describe('the reflector', () => {
  it('lists in pages, shows nothing before the last, and then follows', async () => {
    await using it = await aSetup();
    await it.addMany(1100);
    await it.synced();
    assert.equal(it.cache.size, 1100);
    assert.deepEqual(
      it.lists().map((r) => /limit=500/.test(r.path)),
      [true, true, true],
    );
    await it.add('later');
    await eventually(it.clock, 'followed', () => it.cache.get(`${NS}/later`) !== undefined);
    await it.remove('l-5');
    await eventually(it.clock, 'removed', () => it.cache.get(`${NS}/l-5`) === undefined);
    assert.equal(it.lists().length, 3);
  });

  it('holds objects without the owners of their fields, unless somebody says what to keep', async () => {
    for (const keep of [undefined, (lease: CoordinationLease) => lease]) {
      await using it = await aSetup(keep);
      await it.add('listed');
      await it.synced();
      const { metadata } = await it.add('told');
      await eventually(it.clock, 'followed', () => it.cache.size === 2);
      assert.ok(metadata.managedFields !== undefined);
      const { managedFields: _, ...rest } = metadata;
      assert.deepEqual(it.cache.get(`${NS}/told`)?.metadata, keep === undefined ? rest : metadata);
      assert.equal(it.cache.get(`${NS}/listed`)?.metadata.managedFields === undefined, keep === undefined);
    }
  });

  it('begins the list again when the connection breaks between pages, and never shows half of it', async () => {
    await using it = await aSetup();
    await it.addMany(600);
    let broken = 0;
    let removed: Promise<unknown> = Promise.resolve();
    const sizes = new Set<number>();
    it.cache.subscribe(() => sizes.add(it.cache.size));
    it.wire.answer = (request) => {
      if (!request.path.includes('continue=') || broken++ > 0) return undefined;
      removed = it.remove('l-0');
      throw new Error('connection reset');
    };
    await it.synced();
    await removed;
    assert.deepEqual([...sizes], [599]);
    assert.equal(it.cache.get(`${NS}/l-0`), undefined);
    assert.equal(it.lists().length, 4);
    assert.match(it.reflector.health.lastError?.message ?? '', /connection reset/);
  });

  it('asks for all at once when a page expired under it', async () => {
    await using it = await aSetup();
    await it.addMany(600);
    it.wire.answer = (request) =>
      request.path.includes('continue=') ? refusal(new ApiError('Expired', 'too old')) : undefined;
    await it.synced();
    assert.equal(it.cache.size, 600);
    assert.equal(it.lists().at(-1)?.path.includes('limit='), false);
  });

  it('lists again when its version is too old, and so learns of what vanished meanwhile', async () => {
    await using it = await aSetup();
    await it.add('a');
    await it.add('b');
    await it.synced();
    let down = true;
    it.wire.answer = (request) => {
      if (!isWatch(request)) return undefined;
      if (down) throw new Error('down');
      const expired = new ApiError('Expired', 'too old resource version').toStatus();
      return it.lists().length > 1 ? undefined : streamOf(`${JSON.stringify({ type: 'ERROR', object: expired })}\n`);
    };
    it.wire.cut();
    await quiesce();
    await it.remove('a');
    await it.add('c');
    down = false;
    await eventually(it.clock, 'caught up', () => it.names().join() === 'b,c');
    assert.equal(it.lists().length, 2);
  });

  it('lists again when it is told to, whether it follows or waits, and goes on following', async () => {
    await using it = await aSetup();
    await it.add('a');
    await it.synced();
    it.cache.remove(`${NS}/a`);
    it.reflector.relist();
    await eventually(it.clock, 'it is there again', () => it.names().join() === 'a');
    await it.add('b');
    await eventually(it.clock, 'followed', () => it.names().join() === 'a,b');
    assert.equal(it.lists().length, 2);

    it.wire.answer = (request) => {
      if (isWatch(request)) throw new Error('down');
    };
    it.wire.cut();
    await eventually(it.clock, 'it waits', () => it.reflector.health.at === 'waiting');
    it.cache.remove(`${NS}/b`);
    it.reflector.relist();
    await eventually(it.clock, 'it is there again', () => it.names().join() === 'a,b');
  });

  it('takes up a broken stream where it left off: an event cut in half is neither lost nor taken twice', async () => {
    await using it = await aSetup();
    const a = await it.add('a');
    await it.synced();
    const b = { ...a, metadata: { ...a.metadata, name: 'b', resourceVersion: '99' } };
    let cut = false;
    it.wire.answer = (request) => {
      if (!isWatch(request) || cut) return undefined;
      cut = true;
      return streamOf(JSON.stringify({ type: 'ADDED', object: b }).slice(0, 40));
    };
    const told: string[] = [];
    it.cache.subscribe(({ key }) => told.push(key));
    it.wire.cut();
    await it.add('b');
    await eventually(it.clock, 'caught up', () => it.names().join() === 'a,b');
    assert.deepEqual(told, [`${NS}/b`]);
    assert.equal(it.lists().length, 1);
  });

  it('resumes from a bookmark', async () => {
    await using it = await aSetup();
    await it.add('a');
    await it.synced();
    let sent = false;
    it.wire.answer = (request) => {
      if (!isWatch(request)) return undefined;
      if (sent) return streamOf();
      sent = true;
      const bookmark = { type: 'BOOKMARK', object: { metadata: { resourceVersion: '77' } } };
      return streamOf(`${JSON.stringify(bookmark)}\n`);
    };
    it.wire.cut();
    const resumed = () => it.wire.requests.at(-1)?.path.includes('resourceVersion=77&') === true;
    await eventually(it.clock, 'resumed', resumed);
    assert.deepEqual(it.names(), ['a']);
  });

  it('goes on for ever over a server that is down, waits longer each time, says so, and recovers', async () => {
    await using it = await aSetup();
    await it.add('a');
    it.wire.answer = () => {
      throw new Error('refused');
    };
    it.start();
    const startedMs = it.clock.now();
    await eventually(it.clock, 'two hundred seconds', () => it.clock.now() - startedMs > 200_000, 1_000);
    const tries = it.wire.requests.length;
    assert.ok(tries >= 8 && tries <= 16, `${tries} tries in 200 s`);
    assert.equal(it.reflector.health.synced, false);
    assert.ok(it.reflector.health.failures > 5);
    it.wire.answer = () => undefined;
    await eventually(it.clock, 'recovered', () => it.names().join() === 'a');
    await eventually(it.clock, 'failures forgotten', () => it.reflector.health.at === 'watching');
  });

  it('does not hammer a server that ends every watch at once', async () => {
    await using it = await aSetup();
    it.wire.answer = (request) => (isWatch(request) ? streamOf() : undefined);
    const startedMs = it.clock.now();
    it.start();
    await eventually(it.clock, 'a minute', () => it.clock.now() - startedMs > 60_000, 1_000);
    assert.ok(it.wire.requests.length < 14, `${it.wire.requests.length} requests in a minute`);
  });

  it('gives up a watch that says nothing long after its time', async () => {
    await using it = await aSetup();
    it.wire.answer = (request) => (isWatch(request) ? silentUntilAborted(request) : undefined);
    await it.synced();
    const watches = () => it.wire.requests.filter(isWatch).length;
    await it.clock.advance(329_000);
    await quiesce();
    assert.equal(watches(), 1);
    await it.clock.advance(1_000);
    await eventually(it.clock, 'watching again', () => watches() === 2);
    assert.match(it.reflector.health.lastError?.message ?? '', /did not end/);
  });

  it('leaves nothing behind when it is stopped', async () => {
    await using it = await aSetup();
    // What the server itself does in the background has begun.
    await quiesce();
    const before = it.clock.waiting;
    await it.synced();
    assert.ok(it.clock.waiting > before);
    await it.stop();
    await quiesce();
    assert.equal(it.clock.waiting, before);
    assert.equal(it.reflector.health.at, 'stopped');
  });
});

function silentUntilAborted(request: ApiRequest): ApiResponse {
  return {
    status: 200,
    headers: {},
    body: (async function* () {
      const aborted = Promise.withResolvers<never>();
      request.signal?.addEventListener('abort', () => aborted.reject(request.signal?.reason));
      await aborted.promise;
    })(),
  };
}
