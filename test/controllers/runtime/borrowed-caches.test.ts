import assert from 'node:assert/strict';
import { BorrowedCaches } from '../../../controllers/runtime/borrowed-caches.ts';
import { Cache, type CacheView } from '../../../controllers/runtime/cache.ts';
import type { Caches } from '../../../controllers/runtime/informers.ts';
import { VM } from '../../../resources/kinds/vm.ts';
import type { KubeObject } from '../../../resources/meta/object.ts';
import { aVM } from '../../harness/builders.ts';

describe('borrowed caches', () => {
  it('end what was made through them, and nothing of anybody else', () => {
    const cache = new Cache<KubeObject>();
    const caches: Caches = {
      of: <T extends KubeObject>() => cache as CacheView<KubeObject> as CacheView<T>,
      trimmed: () => cache,
      drop: async () => {},
    };
    const borrowed = new BorrowedCaches(caches);
    let derived = 0;
    const told = { mine: 0, other: 0 };
    const view = borrowed.of<VM>(VM);
    const index = view.index(() => {
      derived++;
      return ['all'];
    });
    view.subscribe(() => told.mine++);
    cache.subscribe(() => told.other++);
    cache.put(aVM({ name: 'a' }));
    assert.equal(index.count('all'), 1);
    assert.equal(view.size, 1);
    borrowed[Symbol.dispose]();
    const before = derived;
    cache.put(aVM({ name: 'b' }));
    assert.equal(derived, before);
    assert.deepEqual(told, { mine: 1, other: 2 });
    assert.equal(cache.size, 2);
  });
});
