import assert from 'node:assert/strict';
import fc from 'fast-check';
import { keyRange } from '../../../apiserver/cache/key-range.ts';
import { ObjectCodec } from '../../../apiserver/cache/object-codec.ts';
import { ResourceCache } from '../../../apiserver/cache/resource-cache.ts';
import { decodeStored, encodeStored, removedAt } from '../../../apiserver/cache/stored-object.ts';
import { WatchCache } from '../../../apiserver/cache/watch-cache.ts';
import { MemoryStore } from '../../../apiserver/store/memory/store.ts';
import { type Batch, type Store, StoreError } from '../../../apiserver/store/store.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';
import { parseJson } from '../../../resources/meta/json.ts';
import type { JsonObject, KubeObject } from '../../../resources/meta/object.ts';
import { aWidget } from '../../builders/widget.ts';
import { FarStore } from '../../harness/far-store.ts';

const RESOURCE = 'demo.example.com/widgets';
const KEY = `objects/${RESOURCE}/demo/`;
const stored = (name: string, revision: number) =>
  decodeStored(`demo/${name}`, encodeStored(aWidget({ name })), revision, (text) => parseJson(text).value);

const write = async (store: Store, ...names: string[]): Promise<number> => {
  const puts = names.map((name) => ({ key: KEY + name, value: encodeStored(aWidget({ name })) }));
  const result = await store.txn({ compares: [], puts, deletes: [] }).done;
  return result.ok ? result.revision : 0;
};

describe('the watch cache', () => {
  it('shows all events of a batch, and its revision, in one step', async () => {
    const store = await MemoryStore.open({ ids: systemIds });
    const stop = new AbortController();
    const cache = new WatchCache(store);
    const { following } = await cache.start(stop.signal);
    const seen: unknown[] = [];
    cache.resource(RESOURCE).listen(({ current }) => {
      seen.push([
        current.key,
        cache.revision,
        cache
          .resource(RESOURCE)
          .sorted()
          .map(({ key }) => key),
      ]);
    });
    const revision = await write(store, 'a', 'b');
    await cache.waitFor(revision, stop.signal);
    const all = ['demo/a', 'demo/b'];
    assert.deepEqual(seen, [
      ['demo/a', revision, all],
      ['demo/b', revision, all],
    ]);
    stop.abort();
    await following;
  });

  it('starts a little in the past, so that watches survive a restart, and not before what is compacted', async () => {
    const store = await MemoryStore.open({ ids: systemIds });
    const first = await write(store, 'a');
    await write(store, 'b');
    const cache = new WatchCache(store);
    const stop = new AbortController();
    await cache.start(stop.signal);
    assert.deepEqual(
      cache
        .resource(RESOURCE)
        .since(first)
        ?.map(({ current }) => current.key),
      ['demo/b'],
    );
    await store.compact(store.revision());
    const later = new WatchCache(store);
    const askedBefore = later.resource('demo.example.com/others');
    await later.start(stop.signal);
    assert.equal(later.resource(RESOURCE).since(first), undefined);
    assert.equal(askedBefore.since(first), undefined);
    assert.deepEqual(later.resource(RESOURCE).since(store.revision()), []);
    stop.abort();
  });

  it('reads the history of a start while it reads the state', async () => {
    const store = await MemoryStore.open({ ids: systemIds });
    for (const name of ['a', 'b', 'c']) await write(store, name);
    const told = Promise.withResolvers<void>();
    class Slow extends FarStore {
      override async *watch(from: number, signal: AbortSignal): AsyncGenerator<Batch> {
        for await (const batch of super.watch(from, signal)) {
          yield batch;
          if (batch.revision === 2) told.resolve();
        }
      }
      override async range(...asked: Parameters<Store['range']>): ReturnType<Store['range']> {
        await told.promise;
        return super.range(...asked);
      }
    }
    const stop = new AbortController();
    const cache = new WatchCache(new Slow(store));
    const { following } = await cache.start(stop.signal);
    assert.equal(cache.resource(RESOURCE).since(0)?.length, 3);
    await write(store, 'd');
    await cache.waitFor(store.revision(), stop.signal);
    assert.equal(cache.resource(RESOURCE).since(0)?.length, 4);
    stop.abort();
    await following;
  });

  it('goes on from where it is when the store ends it for being slow', async () => {
    const store = await MemoryStore.open({ ids: systemIds });
    let ended = 0;
    class Impatient extends FarStore {
      override async *watch(from: number, signal: AbortSignal): AsyncGenerator<Batch> {
        for await (const batch of super.watch(from, signal)) {
          yield batch;
          ended++;
          throw new StoreError('SlowReader', 'too slow');
        }
      }
    }
    const stop = new AbortController();
    const cache = new WatchCache(new Impatient(store));
    const { following } = await cache.start(stop.signal);
    const seen: string[] = [];
    cache.resource(RESOURCE).listen(({ current }) => seen.push(current.key));
    for (const name of ['a', 'b', 'c']) await write(store, name);
    await cache.waitFor(store.revision(), stop.signal);
    assert.deepEqual(seen, ['demo/a', 'demo/b', 'demo/c']);
    assert.ok(ended >= 2);
    stop.abort();
    await following;
  });

  it('lists again in one step when history no longer reaches back to it, and says so', async () => {
    const store = await MemoryStore.open({ ids: systemIds });
    const [reached, back] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let away = false;
    class CutOff extends FarStore {
      override async *watch(from: number, signal: AbortSignal): AsyncGenerator<Batch> {
        for await (const batch of super.watch(from, signal)) {
          if (!away) {
            yield batch;
            continue;
          }
          reached.resolve();
          await back.promise;
          away = false;
          throw new StoreError('Compacted', 'too old');
        }
      }
    }
    await write(store, 'kept', 'changed', 'removed');
    const fence = { key: 'fence/one', value: new Uint8Array() };
    await store.txn({ compares: [], puts: [fence], deletes: [] }).done;
    const stop = new AbortController();
    const cache = new WatchCache(new CutOff(store));
    const { following } = await cache.start(stop.signal);
    const resource = cache.resource(RESOURCE);
    const before = cache.revision;
    const kept = resource.get('demo/kept');
    const { unbroken } = cache;
    const seen: unknown[] = [];
    resource.listen(({ current, removed, previous }) => {
      seen.push([current.key, removed, current.revision, previous?.revision, cache.revision, unbroken.aborted]);
    });
    away = true;
    const changed = await write(store, 'changed', 'made');
    await reached.promise;
    await store.txn({ compares: [], puts: [], deletes: [`${KEY}removed`, 'fence/one'] }).done;
    const now = store.revision();
    back.resolve();
    await cache.waitFor(now, stop.signal);
    assert.deepEqual(seen, [
      ['demo/removed', true, now, 1, now, true],
      ['demo/changed', false, changed, 1, now, true],
      ['demo/made', false, changed, undefined, now, true],
    ]);
    assert.deepEqual(
      resource.sorted().map(({ key }) => key),
      ['demo/changed', 'demo/kept', 'demo/made'],
    );
    assert.equal(resource.get('demo/kept'), kept);
    assert.equal(cache.fence('fence/one'), 0);
    assert.equal(resource.since(before), undefined);
    assert.equal(cache.resource('demo.example.com/others').since(before), undefined);
    assert.deepEqual(resource.since(now), []);
    assert.equal(cache.unbroken.aborted, false);
    await cache.waitFor(await write(store, 'later'), stop.signal);
    assert.equal(resource.since(now)?.length, 1);
    stop.abort();
    await following;
  });

  it('tells those who wait when it follows no longer', async () => {
    const store = await MemoryStore.open({ ids: systemIds });
    const cache = new WatchCache(store);
    const { following } = await cache.start(new AbortController().signal);
    const waiting = assert.rejects(cache.waitFor(99, new AbortController().signal), { reason: 'ServiceUnavailable' });
    await store[Symbol.asyncDispose]();
    await assert.rejects(following);
    await waiting;
    await assert.rejects(cache.waitFor(99, new AbortController().signal), { reason: 'ServiceUnavailable' });
  });
});

describe('the ring of a resource', () => {
  it('is bounded by events and by bytes, and says when it does not reach back', () => {
    const { length } = stored('a', 1).bytes;
    for (const limits of [
      { events: 3, bytes: 1 << 20 },
      { events: 100, bytes: 3 * length + 20 },
    ]) {
      const cache = new ResourceCache(0, limits);
      for (let revision = 1; revision <= 9; revision++) cache.put('demo/a', stored('a', revision));
      assert.deepEqual(
        cache.since(6)?.map(({ revision }) => revision),
        [7, 8, 9],
      );
      assert.equal(cache.since(5), undefined);
      assert.equal(cache.oldestRevision, 6);
      cache.remove('demo/a', removedAt(stored('a', 9), 10));
      assert.deepEqual([cache.size, cache.sorted().length, cache.since(9)?.[0]?.removed], [0, 0, true]);
    }
  });

  it('tells the same however many events went before', () => {
    const cache = new ResourceCache(0, { events: 5, bytes: 1 << 20 });
    for (let revision = 1; revision <= 5000; revision++) {
      cache.put('demo/a', stored('a', revision));
      const told = cache.since(Math.max(0, revision - 5))?.map((event) => event.revision);
      const first = Math.max(1, revision - 4);
      assert.deepEqual(
        told,
        Array.from({ length: revision - first + 1 }, (_, i) => first + i),
      );
    }
    cache.forget(5000);
    cache.put('demo/a', stored('a', 5001));
    assert.deepEqual([cache.since(4999), cache.since(5000)?.length], [undefined, 1]);
  });
});

describe('an object that was encoded here', () => {
  const codec = new ObjectCodec();
  const resource = { group: 'demo.example.com', plural: 'widgets' };

  it('reads back from its value as a parser reads it, and is the same object for all who ask', () => {
    // Whatever is written was read by our parser once.
    const fields = fc
      .dictionary(fc.string(), fc.jsonValue())
      .map((made) => parseJson(JSON.stringify(made)).value as JsonObject);
    fc.assert(
      fc.property(fields, fields, fc.array(fc.constantFrom('spec', 'status', 'gone')), (spec, labels, absent) => {
        const none = Object.fromEntries(absent.map((name) => [name, undefined]));
        const metadata = { ...aWidget().metadata, labels: labels as Record<string, string> };
        const object: KubeObject = { ...aWidget(), spec, deep: [{ ...none, spec }], ...none, metadata };
        Object.assign(object.metadata, { finalizers: undefined });
        const value = codec.encode(resource, `${KEY}a`, object);
        const read = codec.decode(`${KEY}a`, value, 7);
        const parsed = decodeStored('demo/a', value, 7, (text) => parseJson(text).value);
        assert.deepEqual(read.object, parsed.object);
        assert.deepEqual([read.key, read.revision, Buffer.from(read.bytes)], ['demo/a', 7, Buffer.from(parsed.bytes)]);
        assert.equal(codec.decode(`${KEY}a`, value, 7), read);
        assert.equal(codec.decode(`${KEY}a`, Uint8Array.from(value), 7), read, 'a copy of its value is as good');
        assert.notEqual(codec.decode(`${KEY}a`, value, 8).object.metadata.resourceVersion, '7');
      }),
    );
  });
});

describe('an object that others wrote over what was encoded here', () => {
  it('is read from their value', () => {
    const codec = new ObjectCodec();
    const resource = { group: 'demo.example.com', plural: 'widgets' };
    const ours = codec.encode(resource, `${KEY}a`, aWidget({ name: 'a' }));
    const theirs = encodeStored({ ...aWidget({ name: 'a' }), theirs: true });
    assert.equal(codec.decode(`${KEY}a`, theirs, 3).object.theirs, true);
    assert.equal(codec.decode(`${KEY}a`, ours, 4).object.theirs, undefined);
    assert.equal(codec.decode(`${KEY}b`, ours, 4).key, 'demo/b');
  });
});

describe('stored objects', () => {
  it('carry their version in bytes that were encoded without it', () => {
    for (const object of [aWidget(), { apiVersion: 'v1', kind: 'X', metadata: {} as never }]) {
      const { bytes, object: read } = decodeStored('k', encodeStored(object), 42, (text) => parseJson(text).value);
      const parsed = JSON.parse(Buffer.from(bytes).toString()) as typeof read;
      assert.deepEqual(parsed, read);
      assert.equal(parsed.metadata.resourceVersion, '42');
    }
  });
});

describe('an object that was loaded', () => {
  const unlooked = (value: Uint8Array) => {
    let parsed = 0;
    const read = decodeStored('demo/a', value, 7, (text) => {
      parsed++;
      return parseJson(text).value;
    });
    return { read, parsed: () => parsed };
  };

  it('is read when somebody looks at it, once, and its bytes are had without', () => {
    const { read, parsed } = unlooked(encodeStored(aWidget({ name: 'a' })));
    assert.match(Buffer.from(read.bytes).toString(), /"metadata":{"resourceVersion":"7",/);
    assert.equal(parsed(), 0);
    assert.equal(read.object.metadata.resourceVersion, '7');
    assert.equal(read.object, read.object);
    assert.equal(parsed(), 1);
  });

  it('is not read to be kept, but where sums are made of it', async () => {
    const store = await MemoryStore.open({ ids: systemIds });
    const broken = Buffer.from('{"metadata":{"name":"broken"},,}');
    const load = async (resource: string) => {
      const puts = [{ key: `objects/${resource}/demo/broken`, value: broken }];
      await store.txn({ compares: [], puts, deletes: [] }).done;
      const cache = new WatchCache(store);
      const stop = new AbortController();
      const { following } = await cache.start(stop.signal);
      stop.abort();
      await following;
      return cache;
    };
    const cache = await load(RESOURCE);
    assert.throws(() => cache.resource(RESOURCE).get('demo/broken')?.object, /broken cannot be read/);
    assert.throws(
      () => [...cache.world.list({ group: 'demo.example.com', plural: 'widgets' })],
      /broken cannot be read/,
    );
    await assert.rejects(load('coppice.dev/vms'), /broken cannot be read/);
  });

  it('must be an object', () => {
    assert.throws(() => unlooked(Buffer.from('[]')), /demo\/a is no object/);
  });
});

describe('a range of keys', () => {
  const all = ['a/1', 'a/2', 'a-b/1', 'ab/1', 'b/1'].sort().map((key) => ({ ...stored('x', 1), key }));
  const keys = (namespace?: string, after?: string) => keyRange(all, namespace, after).map(({ key }) => key);

  it('is one namespace, and none whose name begins alike', () => {
    assert.deepEqual(keys('a'), ['a/1', 'a/2']);
    assert.deepEqual(keys('ab'), ['ab/1']);
    assert.deepEqual(keys('none'), []);
    assert.equal(keyRange(all, undefined, undefined), all, 'nothing is copied when all is asked for');
  });

  it('begins behind a key, there or not', () => {
    assert.deepEqual(keys('a', 'a/1'), ['a/2']);
    assert.deepEqual(keys(undefined, 'a/15'), ['a/2', 'ab/1', 'b/1']);
    assert.deepEqual(keys('a', 'z'), []);
  });
});
