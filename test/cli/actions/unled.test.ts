import assert from 'node:assert/strict';
import { unledIn } from '../../../cli/actions/unled.ts';
import { LONE_MEMBER, newDutyLease, newMemberLease } from '../../../controllers/runtime/election/lease-records.ts';
import { microTime } from '../../../resources/ambient/clock.ts';
import type { KubeObject } from '../../../resources/meta/object.ts';
import { ALL_DUTIES } from '../../../resources/streams/election-leases.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const made = (lease: object) => lease as KubeObject;
const duties = (holder: string, but: readonly string[] = []) =>
  ALL_DUTIES.filter((duty) => !but.includes(duty)).map((duty) => made(newDutyLease(duty, holder, microTime(NOW))));
const member = (name: string, ageMs: number | undefined) => {
  const renewTime = ageMs === undefined ? undefined : microTime(NOW - ageMs);
  return made(newMemberLease(name, { where: 'mac/1', duties: ALL_DUTIES, renewTime }));
};
const told = (...leases: readonly KubeObject[]) => unledIn(leases, NOW).map(({ message }) => message);
const ALL = `no controllers lead ${ALL_DUTIES.join(', ')}: start "coppice controllers"`;

describe('duties that nobody leads', () => {
  it('are all where there never were controllers', () => assert.deepEqual(told(), [ALL]));

  it('are none while their holder renews its Lease', () => {
    assert.deepEqual(told(member('controllers-a', 2_000), ...duties('controllers-a')), []);
  });

  it('are those of a process that renews no longer, or is gone', () => {
    assert.deepEqual(told(member('controllers-a', 31_000), ...duties('controllers-a')), [ALL]);
    assert.deepEqual(told(member('controllers-b', 1_000), ...duties('controllers-a')), [ALL]);
  });

  it('are those that were given up, or never taken', () => {
    const led = duties('controllers-a', ['placement', 'image']);
    const free = made(newDutyLease('placement', '', microTime(NOW)));
    assert.deepEqual(told(member('controllers-a', 0), ...led, free), [
      'no controllers lead image, placement: start "coppice controllers"',
    ]);
  });

  it('are none of an up with a store of its own, which renews nothing', () => {
    assert.deepEqual(told(member(LONE_MEMBER, undefined), ...duties(LONE_MEMBER)), []);
  });
});
