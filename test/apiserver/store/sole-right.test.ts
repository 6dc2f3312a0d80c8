import assert from 'node:assert/strict';
import { RIGHT_MS, SoleRight } from '../../../apiserver/store/etcd/sole-right.ts';
import { systemClock } from '../../../resources/ambient/system-clock.ts';

/** A right that was confirmed just now, by two clocks that go by hand. */
function confirmed() {
  const time = { monotonic: 5_000, wall: 1_000_000 };
  const right = new SoleRight({ ...systemClock, monotonic: () => time.monotonic, now: () => time.wall });
  right.extend(right.now());
  return { right, time };
}

describe('the sole right by the clock', () => {
  it('is not held before it is confirmed, and no longer once it is dropped', () => {
    assert.equal(new SoleRight(systemClock).isHeld, false);
    const { right } = confirmed();
    assert.equal(right.isHeld, true);
    right.drop();
    assert.equal(right.isHeld, false);
  });

  it('counts from when was asked, not from the answer', () => {
    const { right, time } = confirmed();
    const asked = right.now();
    time.monotonic += RIGHT_MS;
    time.wall += RIGHT_MS;
    right.extend(asked);
    assert.equal(right.isHeld, false);
  });

  it('ends by either clock: one stands still while a machine sleeps, the other is set', () => {
    for (const [monotonic, wall, isHeld] of [
      [RIGHT_MS - 1, RIGHT_MS - 1, true],
      [RIGHT_MS, 0, false],
      [0, RIGHT_MS, false],
      [0, -1, false],
    ] as const) {
      const { right, time } = confirmed();
      time.monotonic += monotonic;
      time.wall += wall;
      assert.equal(right.isHeld, isHeld, `${monotonic} and ${wall} ms`);
    }
  });

  it('covers only what is not behind anything that somebody was told', () => {
    const { right } = confirmed();
    right.told(7);
    right.told(5);
    assert.deepEqual([right.covers(6), right.covers(7)], [false, true]);
  });
});
