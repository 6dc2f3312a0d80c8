import assert from 'node:assert/strict';
import { Failures } from '../../../controllers/pool/failures.ts';
import { aMember, aPool } from '../../harness/pool-objects.ts';

const pool = aPool();

describe('members that fail', () => {
  let failures: Failures;
  let nowMs = 0;
  const seen = (failed: readonly string[], ready: readonly string[] = []) => {
    const vms = (names: readonly string[]) => names.map((name) => aMember({ name }));
    const failing = failures.seen(pool, vms(failed), vms(ready), ({ metadata }) => `${metadata.name} fell over`, nowMs);
    return failing && [failing.count, failing.message, failing.retryAtMs - nowMs];
  };
  beforeEach(() => {
    failures = new Failures();
    nowMs = 1000;
  });

  it('are replaced at once the first time, and later and later after that, five minutes at most', () => {
    assert.equal(seen(['a', 'b']), undefined);
    const delays = Array.from({ length: 8 }, (_, i) => {
      nowMs += 1000;
      return seen([`c-${i}`])?.[2];
    });
    assert.deepEqual(delays, [10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000, 300_000]);
  });

  it('count once each, and those seen together once', () => {
    seen(['a']);
    assert.deepEqual(seen(['a', 'b', 'c']), [2, 'b fell over', 10_000]);
    nowMs += 4000;
    assert.deepEqual(seen(['a', 'b', 'c']), [2, 'b fell over', 6000]);
  });

  it('are forgotten when one comes up that was made since, not for those that were up all the time', () => {
    seen(['a'], ['old']);
    seen(['b'], ['old']);
    assert.equal(seen([], ['old'])?.[0], 2);
    assert.equal(seen([], ['old', 'new']), undefined);
    assert.equal(seen(['c'], ['old']), undefined, 'it begins anew');
  });

  it('are forgotten with their pool', () => {
    seen(['a']);
    failures.forget(pool.metadata.uid);
    assert.equal(seen(['b']), undefined);
  });
});
