import assert from 'node:assert/strict';
import { Event } from '../../resources/kinds/event.ts';
import { FleetWorld } from '../harness/fleet-world.ts';
import { SetOfLeases } from '../harness/set-of-leases.ts';

const WEEKDAYS = {
  name: 'office-hours',
  start: '0 8 * * 1-5',
  duration: '11h',
  timeZone: 'Europe/Berlin',
  replicas: 3,
};

describe('a set of leases with office hours', () => {
  it('is warm on Monday at eight, keeps what is paid for over the nights, and has the weekend off', async () => {
    // A Saturday. Nobody scrubs, so those that were given back are not to be had again.
    await using world = await FleetWorld.start({ at: '2026-02-28T12:00:00Z' });
    await world.tenant('acme');
    for (let i = 1; i <= 11; i++) await world.mac(`mac-${i}`);
    const set = new SetOfLeases(world);
    await set.asks({ replicas: 1, schedules: [WEEKDAYS] });
    await set.until('1/1 (Active)');
    const told: string[] = [];
    const recorded = new Set<string>();
    const look = async (instant: string) => {
      await world.isNow(instant);
      await world.settles();
      // Events are kept for an hour only.
      const events = world.fleet.all<Event>(Event).filter(({ involvedObject }) => involvedObject.kind === 'LeaseSet');
      for (const { reason, message } of events) recorded.add(`${reason}: ${message}`);
      told.push(`${instant.slice(5, 16)} ${set.tells}`);
    };
    await look('2026-03-02T06:59:58Z');
    await look('2026-03-02T07:00:03Z');
    await look('2026-03-02T18:00:03Z');
    await look('2026-03-03T06:59:58Z');
    await look('2026-03-03T07:00:03Z');
    // From now on their minimum is over, and they need not stay over night.
    await look('2026-03-03T17:59:58Z');
    await look('2026-03-03T18:01:00Z');
    await look('2026-03-04T07:01:00Z');
    await look('2026-03-04T18:01:00Z');
    await look('2026-03-05T18:01:00Z');
    await look('2026-03-06T07:01:00Z');
    await look('2026-03-06T18:01:00Z');
    await look('2026-03-07T07:02:00Z');
    await look('2026-03-08T12:00:00Z');
    await look('2026-03-09T06:59:58Z');
    await look('2026-03-09T07:01:00Z');
    assert.ok(recorded.has('Scheduled: 3 are wanted from now on, 1 were: a schedule begins or ends'));
    assert.ok([...recorded].some((each) => each?.startsWith('Surplus: 1 lease more than wanted: it stays')));
    assert.deepEqual(told, [
      '03-02T06:59 1/1 (Active)',
      '03-02T07:00 3/3 (Active)',
      // The one that was there is past its minimum and goes; one more than is wanted is not.
      '03-02T18:00 2/1 +1 (Active)',
      '03-03T06:59 2/1 +1 (Active)',
      '03-03T07:00 3/3 (Active)',
      '03-03T17:59 3/3 (Active)',
      '03-03T18:01 1/1 (Active)',
      '03-04T07:01 3/3 (Active)',
      '03-04T18:01 2/1 +1 (Active)',
      '03-05T18:01 1/1 (Active)',
      '03-06T07:01 3/3 (Active)',
      '03-06T18:01 2/1 +1 (Active)',
      '03-07T07:02 1/1 (Active)',
      '03-08T12:00 1/1 (Active)',
      '03-09T06:59 1/1 (Active)',
      '03-09T07:01 3/3 (Active)',
    ]);
    assert.deepEqual(world.fleet.errors, []);
  });
});
