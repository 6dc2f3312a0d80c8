import assert from 'node:assert/strict';
import { atMost, type Contest, measure } from '../../bench/harness.ts';
import { renderResults } from '../../bench/report.ts';

const contest = (ours: number, control: readonly number[]): Contest => {
  const left = [...control];
  return {
    goal: '10',
    title: 'a start',
    unit: 'ms',
    ours: async () => ours,
    control: { title: 'bare', take: async () => left.shift() ?? Number.NaN },
    must: atMost(600, 'ms'),
  };
};

describe('the table of results', () => {
  it('shows both numbers, the ratio, and whether the must is met', async () => {
    const met = await measure(contest(300, [100]), { rounds: 1, runs: 1 });
    const missed = await measure(contest(1234.5, [9.876]), { rounds: 1, runs: 1 });
    assert.deepEqual(renderResults([met, missed]).split('\n'), [
      'GOAL  MEASURE  OURS     CONTROL         RATIO    MUST               GREAT',
      '10    a start  300 ms   100 ms (bare)   3.00x    ≤ 600 ms: met',
      '10    a start  1235 ms  9.88 ms (bare)  125.00x  ≤ 600 ms: NOT met',
      '',
    ]);
  });

  it('says nothing of a must after a void run', async () => {
    const result = await measure(contest(300, [1, 9]), { rounds: 2, runs: 1 });
    assert.match(renderResults([result]), /≤ 600 ms: void/);
  });
});
