import assert from 'node:assert/strict';
import type { Lease } from '../../../resources/kinds/lease.ts';
import { CraftedFleet, told } from './crafted-fleet.ts';
import { A_DAY_LATER, aLease, aSet, GRANTED, host, leased, ofSet, waits } from './crafted-objects.ts';

describe('set-within-wanted', () => {
  it('is broken by a lease that is made beyond what is wanted', () => {
    const fleet = new CraftedFleet([aSet({ replicas: 2 })]);
    assert.deepEqual(fleet.put(waits('a')), []);
    assert.deepEqual(fleet.put(waits('b')), []);
    assert.deepEqual(fleet.put(waits('c'), waits('d')), [
      'set-within-wanted: leaseset/red/ci wants 2 at most, and has 4 leases since lease/red/c, lease/red/d',
    ]);
  });

  it('holds where less is wanted than there was, and where a schedule or the last look wanted as many', () => {
    const shrunk = new CraftedFleet([aSet({ replicas: 2 }), waits('a'), waits('b')]);
    assert.deepEqual(shrunk.put(aSet({ replicas: 0 })), []);
    assert.deepEqual(new CraftedFleet([aSet({ replicas: 0 }, { wanted: 1 })]).put(waits('a')), []);
    const schedule = { name: 'x', start: '0 8 * * *', duration: '1h', timeZone: 'UTC', replicas: 2 };
    const scheduled = new CraftedFleet([aSet({ replicas: 0, schedules: [schedule] })]);
    assert.deepEqual(scheduled.put(waits('a'), waits('b')), []);
    assert.equal(scheduled.put(waits('c')).length, 1);
  });

  it('does not count what is over, ending, released or deleted, nor what is another set’s', () => {
    const over = (name: string, status: Partial<Lease['status']>) => ofSet(aLease({ name, status }));
    const fleet = new CraftedFleet([aSet(), host()]);
    const { status: _, ...deleted } = waits('e');
    const gone = [
      over('a', { phase: 'Ended', endedAt: A_DAY_LATER, billedUntil: A_DAY_LATER }),
      waits('d', { release: {} }),
      { ...deleted, metadata: { ...deleted.metadata, deletionTimestamp: GRANTED } },
      ofSet(aLease({ name: 'f', status: { phase: 'Pending' } }), 'another'),
    ];
    for (const lease of gone) fleet.put(lease);
    assert.deepEqual(fleet.put(waits('new')), []);
    assert.equal(fleet.put(waits('one-more')).length, 1);
  });

  it('says nothing of what there is at the beginning', () => {
    const seen: string[] = [];
    new CraftedFleet([aSet(), waits('a'), waits('b')], (found) => seen.push(...found.map(told)));
    assert.deepEqual(seen, []);
  });
});

describe('set-keeps-paid', () => {
  const released = (requestedAt: string, by = 'system:controller:leaseset') => {
    const lease = ofSet(aLease());
    return { ...lease, spec: { ...lease.spec, release: { by, requestedAt } } };
  };
  const fleet = () => new CraftedFleet([leased(ofSet(aLease())), ofSet(aLease()), aSet()]);

  it('is broken by a release before the minimum is over', () => {
    assert.deepEqual(fleet().put(released('2026-01-01T23:59:59Z')), [
      'set-keeps-paid: lease/red/ci was released by its set at 2026-01-01T23:59:59Z, and its minimum is over at 2026-01-02T00:00:00Z',
    ]);
  });

  it('holds for one from then on, and for what others ask', () => {
    assert.deepEqual(fleet().put(released(A_DAY_LATER)), []);
    assert.deepEqual(fleet().put(released(GRANTED, 'ann')), []);
    const asked = fleet();
    assert.equal(asked.put(released(GRANTED)).length, 1);
  });
});
