import assert from 'node:assert/strict';
import { ObjectCodec } from '../../../apiserver/cache/object-codec.ts';
import { RecentEvents } from '../../../apiserver/cache/recent-events.ts';
import { ResourceCache } from '../../../apiserver/cache/resource-cache.ts';
import { decodeStored, encodeStored, removedAt, type StoredObject } from '../../../apiserver/cache/stored-object.ts';
import { WatchCache } from '../../../apiserver/cache/watch-cache.ts';
import { Sealer } from '../../../apiserver/sealing/sealer.ts';
import { MemoryStore } from '../../../apiserver/store/memory/store.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';
import { parseJson } from '../../../resources/meta/json.ts';
import { aWidget } from '../../builders/widget.ts';

const KEY = 'objects/demo.example.com/widgets/demo/a';
const WIDGETS = { group: 'demo.example.com', plural: 'widgets' };

/** A cache of which the latest three events are recent, and writes to it whose readings are counted. */
function started() {
  const length = decodeStored('demo/a', encodeStored(aWidget({ name: 'a' })), 1_000, JSON.parse).bytes.length;
  const cache = new ResourceCache(0, { events: 10, bytes: 1 << 20 }, new RecentEvents(3 * length));
  const reads: number[] = [];
  let revision = 1_000;
  const write = (name: string): StoredObject => {
    const at = ++revision;
    const parse = (text: string) => {
      reads.push(at);
      return parseJson(text).value;
    };
    const stored = decodeStored(`demo/${name}`, encodeStored(aWidget({ name })), at, parse);
    cache.put(stored.key, stored);
    return stored;
  };
  /** How often it was read, looked at now. */
  const timesRead = (stored: StoredObject) => {
    assert.equal(stored.object.metadata.resourceVersion, String(stored.revision));
    return reads.filter((at) => at === stored.revision).length;
  };
  return { cache, write, timesRead };
}

describe('events that are recent no more', () => {
  it('keep no encodings for the next who watches, and are told as before', () => {
    const { cache, write } = started();
    const [first] = [write('a'), write('a')];
    const [event] = cache.since(0) ?? [];
    const line = new Uint8Array(1);
    event?.encoded.set('as JSON', line);
    write('b');
    assert.equal(event?.encoded.get('as JSON'), line, 'the third event is recent');
    for (const name of ['b', 'c', 'd']) write(name);
    event?.encoded.set('as JSON', line);
    assert.deepEqual([event?.encoded.size, event?.current], [0, first]);
    assert.equal(cache.since(0)?.[0], event);
    assert.deepEqual(event?.current.object.metadata.name, 'a');
  });

  it('let go of what was there before them, and of what was only made, but not of what is likely to be changed again', () => {
    const { write, timesRead } = started();
    const written = [write('a'), write('a'), write('a')] as const;
    assert.deepEqual(written.map(timesRead), [1, 1, 1]);
    for (const name of ['c', 'd', 'e', 'f']) write(name);
    assert.deepEqual(written.map(timesRead), [2, 2, 1]);
  });

  it('let go of what was removed', () => {
    const { cache, write } = started();
    write('a');
    const last = removedAt(cache.get('demo/a') as StoredObject, 1_100);
    const { object } = last;
    cache.remove('demo/a', last);
    assert.equal(last.object, object);
    for (const name of ['c', 'd', 'e', 'f']) write(name);
    assert.notEqual(last.object, object);
    assert.deepEqual(last.object, object);
  });

  it('let go of objects when the ring does', () => {
    const { write, timesRead } = started();
    const changed = [write('a'), write('a')] as const;
    assert.equal(timesRead(changed[1]), 1);
    for (let i = 0; i < 9; i++) write(`b${i}`);
    assert.equal(timesRead(changed[1]), 1, 'its event is in the ring');
    write('c');
    assert.equal(timesRead(changed[1]), 2);
  });
});

describe('what happened to a resource', () => {
  it('is kept up to 16 MiB, which is twice what a watcher may be behind', async () => {
    await using store = await MemoryStore.open({ ids: systemIds });
    const cache = new WatchCache(store);
    const stop = new AbortController();
    const { following } = await cache.start(stop.signal);
    const value = encodeStored({ ...aWidget({ name: 'a' }), text: 'x'.repeat(1 << 20) });
    for (let i = 0; i < 20; i++) await store.txn({ compares: [], puts: [{ key: KEY, value }], deletes: [] }).done;
    await cache.waitFor(store.revision(), stop.signal);
    const ring = cache.resource('demo.example.com/widgets');
    assert.equal(ring.since(ring.oldestRevision)?.length, 15);
    assert.equal(ring.since(ring.oldestRevision - 1), undefined);
    stop.abort();
    await following;
  });
});

describe('an object that was let go of', () => {
  it('reads as what was written, though that was never read', () => {
    const codec = new ObjectCodec();
    const stored = codec.decode(KEY, codec.encode(WIDGETS, KEY, aWidget({ name: 'a' })), 7);
    const { object } = stored;
    assert.equal(stored.object, object);
    stored.forget?.();
    assert.notEqual(stored.object, object);
    assert.deepEqual(stored.object, object);
  });

  it('is kept where it was sealed: which key it was sealed with stands nowhere else', () => {
    const sealer = new Sealer([systemIds.secret(32)]);
    const codec = new ObjectCodec({ sealer, resources: new Set(['demo.example.com/widgets']) });
    const stored = codec.decode(KEY, codec.encode(WIDGETS, KEY, aWidget({ name: 'a' })), 7);
    const { object } = stored;
    stored.forget?.();
    assert.equal(stored.object, object);
  });
});

describe('bytes that are kept', () => {
  it('are no part of anything larger', () => {
    const codec = new ObjectCodec();
    for (const name of ['a', 'b', 'c']) {
      const key = `objects/demo.example.com/widgets/demo/${name}`;
      const value = codec.encode(WIDGETS, key, aWidget({ name }));
      const { bytes } = codec.decode(key, value, 7);
      assert.deepEqual([value.buffer.byteLength, bytes.buffer.byteLength], [value.length, bytes.length]);
    }
  });
});
