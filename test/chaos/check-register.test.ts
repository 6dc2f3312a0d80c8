import assert from 'node:assert/strict';
import { checkRegister } from './check-register.ts';
import type { Act, Step } from './register-steps.ts';

const NEVER = Number.POSITIVE_INFINITY;

describe('the check of one register', () => {
  it('lets operations at once be in any order, and others not', () => {
    const made = put(1, 4, 'x', 5);
    assert.ok(holds(made, none(2, 3)));
    assert.ok(holds(made, found(2, 3, 'x', 5)));
    assert.ok(!holds(made, none(5, 6)), 'a write lost');
    assert.ok(!holds(found(1, 2, 'x', 5), put(3, 4, 'x', 5)), 'a read of the future');
  });

  it('does not let a value be seen and then the one before it', () => {
    const [first, second] = [put(1, 2, 'x', 5), update(3, 20, 'y', 6)];
    assert.ok(holds(first, second, found(4, 5, 'x', 5), found(6, 7, 'y', 6)));
    assert.ok(!holds(first, second, found(4, 5, 'y', 6), found(6, 7, 'x', 5)));
  });

  it('lets what was never answered happen late, once, or not at all', () => {
    const open = { ...update(3, NEVER, 'y', undefined), returned: NEVER };
    const first = put(1, 2, 'x', 5);
    const removed = step(3, NEVER, { type: 'remove' });
    assert.ok(holds(first, removed, found(9, 10, 'x', 5)));
    assert.ok(holds(first, removed, found(9, 10, 'x', 5), none(11, 12)));
    assert.ok(!holds(first, removed, none(9, 10), found(11, 12, 'x', 5)));
    assert.ok(!holds(first, removed, none(4, 5), put(6, 7, 'z', 8), none(9, 10)), 'it removed twice');
    assert.ok(holds(first, removed, removed2(), none(4, 5), put(6, 7, 'z', 8), none(9, 10)));
    assert.ok(holds(first, open, claim(4, 5, 'other', 5)), 'it wrote over what the other was over');
    assert.ok(!holds(first, claim(4, 5, 'other', 5)));
  });

  it('takes versions for the order of writes', () => {
    const [one, other] = [put(1, 10, 'x', 5), update(2, 9, 'y', 6)];
    assert.ok(holds(one, other, found(11, 12, 'y', 6)));
    assert.ok(!holds(one, other, found(11, 12, 'x', 5)));
    assert.ok(!holds(put(1, 2, 'x', 5), remove(3, 4), put(5, 6, 'y', 5)), 'made again at the same version');
    assert.ok(!holds(put(1, 2, 'x', 5), update(3, 4, 'y', 7, 4)), 'over a version that did not stand');
  });

  it('holds refusals to what they say', () => {
    const made = put(1, 2, 'x', 5);
    assert.ok(holds(made, claim(3, 4, 'present')));
    assert.ok(!holds(made, claim(3, 4, 'absent')));
    assert.ok(holds(made, remove(3, 6), claim(4, 5, 'absent')));
    assert.ok(!holds(made, remove(3, 4), claim(5, 6, 'present')));
  });

  it('names the operations that show it and leaves out the reads that do not', () => {
    const steps = [
      put(1, 2, 'x', 5),
      found(3, 4, 'x', 5),
      update(5, 6, 'y', 6),
      found(7, 8, 'y', 6),
      found(9, 10, 'x', 5),
      none(11, 12),
    ];
    const violation = checkRegister('a', numbered(steps));
    assert.equal(violation?.rule, 'not linearizable');
    assert.deepEqual(violation?.operations, [0, 2, 4]);
  });

  it('goes through many operations whose outcome nobody learned', () => {
    const steps = Array.from({ length: 400 }, (_, i) => {
      const at = 10 * i;
      const open = step(
        at + 4,
        NEVER,
        i % 2 === 0 ? { type: 'remove' } : { type: 'put', made: false, value: `lost${i}` },
      );
      return [
        i === 0 ? put(at, at + 1, 'v0', 1) : update(at, at + 1, `v${i}`, i + 1),
        found(at + 2, at + 3, `v${i}`, i + 1),
        open,
      ];
    }).flat();
    assert.ok(holds(...steps));
    assert.ok(!holds(...steps, found(5_000, 5_001, 'v3', 4)));
  });
});

const step = (called: number, returned: number, act: Act): Step => ({ id: 0, called, returned, act });
const put = (called: number, returned: number, value: string, version: number) =>
  step(called, returned, { type: 'put', made: true, value, version });
const update = (called: number, returned: number, value: string, version: number | undefined, over?: number) =>
  step(called, returned, {
    type: 'put',
    made: false,
    value,
    ...(version === undefined ? {} : { version }),
    ...(over === undefined ? {} : { over }),
  });
const remove = (called: number, returned: number) => step(called, returned, { type: 'remove' });
const removed2 = () => step(5.5, NEVER, { type: 'remove' });
const found = (called: number, returned: number, value: string, version: number) =>
  step(called, returned, { type: 'found', found: { value, version } });
const none = (called: number, returned: number) => step(called, returned, { type: 'found', found: undefined });
const claim = (called: number, returned: number, says: 'present' | 'absent' | 'other', over?: number) =>
  step(called, returned, { type: 'claim', claim: says, ...(over === undefined ? {} : { over }) });

const numbered = (steps: readonly Step[]) => steps.map((each, id) => ({ ...each, id }));
const holds = (...steps: readonly Step[]) => checkRegister('a', numbered(steps)) === undefined;
