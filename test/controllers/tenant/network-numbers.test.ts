import assert from 'node:assert/strict';
import { Cache } from '../../../controllers/runtime/cache.ts';
import { NetworkNumbers } from '../../../controllers/tenant/network-numbers.ts';
import type { Tenant } from '../../../resources/kinds/tenant.ts';
import { aTenant } from '../../harness/builders.ts';

const withNumber = (name: string, networkIndex: number): Tenant => ({ ...aTenant(name), status: { networkIndex } });
const taken = (numbers: NetworkNumbers, uid = 'nobody') => [...numbers.takenFromOthers(uid)].sort();

describe('the network numbers that are given out', () => {
  it("are those the cache shows and those just given, but never the asking tenant's own", () => {
    const cache = new Cache<Tenant>();
    const numbers = new NetworkNumbers(cache);
    cache.replace([withNumber('a', 0), aTenant('b'), aTenant('c')]);
    numbers.given('uid-of-b', 1);
    assert.deepEqual(taken(numbers), [0, 1]);
    assert.deepEqual(taken(numbers, 'uid-of-a'), [1]);
    assert.deepEqual(taken(numbers, 'uid-of-b'), [0]);
  });

  it('are free again when their tenant goes, shown or not', () => {
    const cache = new Cache<Tenant>();
    const numbers = new NetworkNumbers(cache);
    cache.replace([withNumber('a', 0), aTenant('b')]);
    numbers.given('uid-of-b', 1);
    cache.remove('b');
    cache.remove('a');
    assert.deepEqual(taken(numbers), []);
  });

  it('are what the cache shows once it does', () => {
    const cache = new Cache<Tenant>();
    const numbers = new NetworkNumbers(cache);
    cache.replace([aTenant('b')]);
    numbers.given('uid-of-b', 1);
    cache.put(withNumber('b', 7));
    assert.deepEqual(taken(numbers), [7]);
  });
});
