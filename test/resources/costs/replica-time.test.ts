import assert from 'node:assert/strict';
import fc from 'fast-check';
import { weeklyReplicaMs } from '../../../resources/costs/replica-time.ts';
import { type Wanted, wantedReplicas } from '../../../resources/meta/wanted-replicas.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** A Monday. */
const NOW_MS = Date.parse('2026-03-02T10:00:00Z');

const window = (start: string, duration: string, replicas: number, name = 'w') => ({
  name,
  start,
  duration,
  replicas,
  timeZone: 'UTC',
});

describe('the time that replicas are there in a week', () => {
  const table: readonly [what: string, spec: Parameters<typeof wantedReplicas>[0], pool: number, leases: number][] = [
    ['three at all times', { replicas: 3 }, 504, 504],
    ['none', { replicas: 0 }, 0, 0],
    // The older of two goes when the second window of a day ends: a lease that is there is kept, another let go.
    ['one, two in working hours', { replicas: 1, schedules: [window('0 7 * * 1-5', '12h', 2)] }, 228, 228],
    ['one for two days', { replicas: 0, schedules: [window('0 20 * * 5', '48h', 1)] }, 48, 48],
    ['one for an hour a week, and so for a day', { replicas: 0, schedules: [window('0 9 * * 1', '1h', 1)] }, 1, 24],
    // What is there when the next window begins is kept for it, and may go when that ends: 25 hours of every 48.
    ['an hour on each of seven days', { replicas: 0, schedules: [window('0 9 * * *', '1h', 1)] }, 7, 87.5],
    [
      'the largest of two that overlap',
      { replicas: 0, schedules: [window('0 0 * * 1', '48h', 1, 'a'), window('0 0 * * 2', '24h', 3, 'b')] },
      96,
      96,
    ],
    ['fewer than otherwise', { replicas: 2, schedules: [window('0 0 * * 0', '24h', 0)] }, 288, 288],
  ];
  for (const [what, spec, pool, leases] of table) {
    it(`is ${pool} h of VMs and ${leases} h of leases for ${what}`, () => {
      const hours = (minimumMs: number) =>
        weeklyReplicaMs((atMs) => wantedReplicas(spec, atMs), NOW_MS, minimumMs) / HOUR_MS;
      assert.deepEqual([hours(0), hours(DAY_MS)], [pool, leases]);
    });
  }

  it('comes to an end where a schedule begins every minute', () => {
    const hours = (start: string) =>
      weeklyReplicaMs((atMs) => wantedReplicas({ replicas: 0, schedules: [window(start, '1m', 4)] }, atMs), NOW_MS, 0) /
      HOUR_MS;
    assert.equal(hours('* * * * *'), 4 * 168);
    assert.ok(Math.abs(hours('*/4 * * * *') - 168) < 1);
  });

  /** A week that comes again and again: how many are wanted in each of its hours. */
  const week = fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 168, maxLength: 168 });
  const at =
    (hours: readonly number[]) =>
    (atMs: number): Wanted => {
      const hour = Math.floor((atMs - NOW_MS) / HOUR_MS);
      return { replicas: hours[hour % 168] ?? 0, until: NOW_MS + (hour + 1) * HOUR_MS };
    };

  it('is what is wanted, where they may go at once', () => {
    fc.assert(
      fc.property(week, (hours) => {
        const wanted = hours.reduce((sum, each) => sum + each, 0);
        return weeklyReplicaMs(at(hours), NOW_MS, 0) === wanted * HOUR_MS;
      }),
    );
  });

  it('is never less than what is wanted, nor more than the most at all times', () => {
    fc.assert(
      fc.property(week, fc.integer({ min: 0, max: 72 }), (hours, minimum) => {
        const is = weeklyReplicaMs(at(hours), NOW_MS, minimum * HOUR_MS) / HOUR_MS;
        const wanted = hours.reduce((sum, each) => sum + each, 0);
        assert.ok(is >= wanted - 1e-6, `${is} of ${wanted}`);
        assert.ok(is <= Math.max(...hours) * 168 + 1e-6, `${is} of ${Math.max(...hours) * 168}`);
      }),
    );
  });
});
