import assert from 'node:assert/strict';
import fc from 'fast-check';
import {
  atMost,
  type Contest,
  controlPlus,
  isVoidRun,
  measure,
  median,
  percentile,
  ratioAtLeast,
  ratioAtMost,
} from '../../bench/harness.ts';

/** A contest that says which side was asked, and answers from a list. */
function contestOf(order: string[], control: readonly number[], ours: readonly number[]): Contest {
  const [left, right] = [[...control], [...ours]];
  const next = (side: string, from: number[]) => async (round: number) => {
    order.push(`${side}${round}`);
    const value = from.shift();
    if (value === undefined) throw new Error(`${side} was asked too often`);
    return value;
  };
  return {
    goal: '0',
    title: 'made up',
    unit: 'ms',
    ours: next('B', right),
    control: { title: 'control', take: next('A', left) },
  };
}

describe('the median', () => {
  const table: readonly (readonly [numbers: number[], median: number])[] = [
    [[7], 7],
    [[9, 1, 5], 5],
    [[4, 1, 3, 2], 2.5],
    [[10, 9, 100, 8, 11], 10],
  ];
  for (const [numbers, wanted] of table)
    it(`of ${numbers} is ${wanted}`, () => {
      const before = [...numbers];
      assert.equal(median(numbers), wanted);
      assert.deepEqual(numbers, before, 'the numbers were put in another order');
    });

  it('has as many numbers below it as above it', () => {
    fc.assert(
      fc.property(fc.array(fc.integer(), { minLength: 1 }), (numbers) => {
        const middle = median(numbers);
        assert.equal(numbers.filter((n) => n <= middle).length >= numbers.length / 2, true);
        assert.equal(numbers.filter((n) => n >= middle).length >= numbers.length / 2, true);
      }),
    );
  });

  it('is refused for none', () => assert.throws(() => median([]), RangeError));
});

describe('a percentile', () => {
  it('is the smallest number that so many do not exceed', () => {
    const hundred = Array.from({ length: 100 }, (_, i) => 100 - i);
    assert.equal(percentile(hundred, 0.99), 99);
    assert.equal(percentile(hundred, 0), 1);
    assert.equal(percentile(hundred, 1), 100);
  });
});

describe('a run', () => {
  it('is void when the control differs by more than three times', () => {
    assert.equal(isVoidRun([10, 31, 12]), true);
    assert.equal(isVoidRun([10, 30, 12]), false);
    assert.equal(isVoidRun([]), false);
  });

  it('takes control and ours in turn, and each goes first as often as the other', async () => {
    const order: string[] = [];
    await measure(contestOf(order, [1, 1, 1, 1], [2, 2, 2, 2]), { rounds: 4, runs: 1 });
    assert.deepEqual(order, ['A0', 'B0', 'B1', 'A1', 'A2', 'B2', 'B3', 'A3']);
  });

  it('gives the medians, their ratio and every round', async () => {
    const result = await measure(contestOf([], [10, 30, 20], [50, 10, 40]), { rounds: 3, runs: 1 });
    assert.deepEqual(result.figures, { ours: 40, control: 20 });
    assert.equal(result.ratio, 2);
    assert.deepEqual(result.rounds, { control: [10, 30, 20], ours: [50, 10, 40] });
    assert.equal(result.isVoid, false);
  });

  it('is repeated when it is void, and only the good one counts', async () => {
    const contest = contestOf([], [1, 100, 1, 10, 10, 10], [5, 5, 5, 7, 7, 7]);
    const result = await measure(contest, { rounds: 3, runs: 3 });
    assert.deepEqual([result.voided, result.isVoid], [1, false]);
    assert.deepEqual(result.figures, { ours: 7, control: 10 });
  });

  it('is given as void when it stays so', async () => {
    const result = await measure(contestOf([], [1, 9, 1, 9], [5, 5, 5, 5]), { rounds: 2, runs: 2 });
    assert.deepEqual([result.voided, result.isVoid], [1, true]);
  });

  it('needs no control', async () => {
    let asked = 0;
    const ours = async () => ++asked;
    const result = await measure({ goal: '0', title: 'alone', unit: '', ours }, { rounds: 5, runs: 3 });
    assert.deepEqual(result.figures, { ours: 3, control: undefined });
    assert.equal(result.ratio, undefined);
    assert.equal(asked, 5);
  });
});

describe('a mark', () => {
  it('is met at its very limit and not beyond', () => {
    const marks = [
      { mark: atMost(250, 'ms'), at: { ours: 250, control: 1 }, beyond: { ours: 251, control: 1 } },
      { mark: controlPlus(500), at: { ours: 1500, control: 1000 }, beyond: { ours: 1501, control: 1000 } },
      { mark: ratioAtMost(2), at: { ours: 20, control: 10 }, beyond: { ours: 21, control: 10 } },
      { mark: ratioAtLeast(0.5), at: { ours: 5, control: 10 }, beyond: { ours: 4, control: 10 } },
    ];
    for (const { mark, at, beyond } of marks) {
      assert.equal(mark.isMet(at), true, mark.text);
      assert.equal(mark.isMet(beyond), false, mark.text);
    }
  });

  it('against a control is not met without one', () => {
    for (const mark of [controlPlus(500), ratioAtMost(2), ratioAtLeast(0.5)])
      assert.equal(mark.isMet({ ours: 0, control: undefined }), false, mark.text);
  });
});
