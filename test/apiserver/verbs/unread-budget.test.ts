import assert from 'node:assert/strict';
import { UnreadBudget } from '../../../apiserver/verbs/unread-budget.ts';

describe('the budget of what is unread', () => {
  const event = (revision: number) => ({ revision });

  it('counts what several have not read once, and a little for each of them', () => {
    const budget = new UnreadBudget(1_000_000);
    const [one, other] = [event(1), event(2)];
    for (let reader = 0; reader < 10; reader++) budget.hold(one, 1000);
    budget.hold(other, 1000);
    const { bytes } = budget;
    assert.ok(bytes >= 2000 && bytes < 3000, `${bytes}`);
    for (let reader = 0; reader < 9; reader++) budget.release(one, 1000);
    assert.ok(budget.bytes >= 2000, 'the last one still needs it');
    budget.release(one, 1000);
    budget.release(other, 1000);
    assert.equal(budget.bytes, 0);
  });

  it('ends who is furthest behind, and no more than it must', () => {
    const budget = new UnreadBudget(10_000);
    const dropped: string[] = [];
    const holder = (name: string, held: { revision: number }[]) => {
      const made = {
        get oldest() {
          return held[0]?.revision;
        },
        drop() {
          dropped.push(name);
          for (const each of held.splice(0)) budget.release(each, 2000);
        },
      };
      budget.enter(made);
      for (const each of held) budget.hold(each, 2000);
    };
    const [a, b, c, d, e] = [event(1), event(2), event(3), event(4), event(5)];
    holder('caught up', []);
    holder('near', [e]);
    holder('far', [a, b]);
    holder('nearer', [c, d]);
    assert.deepEqual(dropped, ['far']);
    assert.ok(budget.bytes < 7_500);
  });
});
