import assert from 'node:assert/strict';
import { Cache, type Change } from '../../../controllers/runtime/cache.ts';
import type { VM } from '../../../resources/kinds/vm.ts';
import { aVM } from '../../harness/builders.ts';

const at = (vm: VM, resourceVersion: string, uid = vm.metadata.uid): VM => ({
  ...vm,
  metadata: { ...vm.metadata, resourceVersion, uid },
});

describe('the cache', () => {
  it('swaps a whole list in: what vanished is removed, what stayed the same is no change', () => {
    const cache = new Cache<VM>();
    const [a, b, c] = [aVM({ name: 'a' }), aVM({ name: 'b' }), aVM({ name: 'c' })];
    cache.replace([a, b]);
    const changes: Change<VM>[] = [];
    cache.subscribe((change) => changes.push(change));
    const newB = at(b, '5');
    cache.replace([newB, c]);
    assert.deepEqual([...cache.list()], [newB, c]);
    assert.deepEqual(
      changes.map(({ key, before, after }) => [key, before?.metadata.resourceVersion, after?.metadata.resourceVersion]),
      [
        ['red/b', '1', '5'],
        ['red/c', undefined, '1'],
        ['red/a', '1', undefined],
      ],
    );
    cache.replace([at(b, '5'), at(c, '1')]);
    assert.equal(changes.length, 3);
    assert.equal(cache.get('red/b'), newB);
  });

  it('shows the whole new list to whoever hears of its first change', () => {
    const cache = new Cache<VM>();
    const byImage = cache.index((vm) => [vm.spec.image]);
    const seen: unknown[] = [];
    cache.subscribe(() => seen.push([cache.size, byImage.count('tiny')]));
    cache.replace([aVM({ name: 'a' }), aVM({ name: 'b' })]);
    assert.deepEqual(seen, [
      [2, 2],
      [2, 2],
    ]);
  });

  it('tells a deletion and a new object under the same name as both', () => {
    const cache = new Cache<VM>();
    cache.replace([aVM()]);
    const uids: unknown[] = [];
    cache.subscribe(({ before, after }) => uids.push([before?.metadata.uid, after?.metadata.uid]));
    cache.replace([at(aVM(), '9', 'another')]);
    assert.deepEqual(uids, [['uid-of-red-web', 'another']]);
  });

  it('keeps indexes right as objects move, also those made late', () => {
    const cache = new Cache<VM>();
    const early = cache.index((vm) => (vm.spec.hostName === undefined ? [] : [vm.spec.hostName]));
    cache.put(aVM({ spec: { hostName: 'mac-1' } }));
    cache.put(aVM({ spec: { hostName: 'mac-2' } }));
    const late = cache.index((vm) => [vm.spec.hostName ?? '']);
    for (const index of [early, late]) {
      assert.equal(index.count('mac-1'), 0);
      assert.equal(index.get('mac-2').length, 1);
    }
    cache.remove('red/web');
    assert.equal(early.count('mac-2') + late.count('mac-2'), 0);
  });

  it('is synced from the first whole list on, and not before', async () => {
    const cache = new Cache<VM>();
    const stop = new AbortController();
    const given = cache.whenSynced(stop.signal);
    const taken = cache.whenSynced(new AbortController().signal);
    assert.equal(cache.synced, false);
    stop.abort(new Error('stopped'));
    await assert.rejects(given, /stopped/);
    cache.replace([]);
    await taken;
    assert.equal(cache.synced, true);
  });

  it('tells nobody who unsubscribed', () => {
    const cache = new Cache<VM>();
    let told = 0;
    const unsubscribe = cache.subscribe(() => told++);
    cache.put(aVM());
    unsubscribe();
    cache.remove('red/web');
    assert.equal(told, 1);
  });
});
