import assert from 'node:assert/strict';
import { compactionSteps } from '../../../apiserver/store/etcd/compaction-steps.ts';

describe('the steps of a compaction in etcd', () => {
  it('go from where it was to where it is to be, some thousand revisions at a time', () => {
    assert.deepEqual([...compactionSteps(0, 1)], [1]);
    assert.deepEqual([...compactionSteps(100, 5_100)], [5_100]);
    assert.deepEqual([...compactionSteps(100, 5_101)], [5_100, 5_101]);
    assert.deepEqual([...compactionSteps(0, 12_000)], [5_000, 10_000, 12_000]);
  });

  it('are one where another was further already', () => {
    assert.deepEqual([...compactionSteps(500, 100)], [100]);
  });
});
