import assert from 'node:assert/strict';
import { admitLease, heldHost } from '../../../resources/guards/lease-admission.ts';
import { HOSTS } from '../../../resources/guards/refs.ts';
import { World } from '../../../resources/guards/world.ts';
import type { Lease } from '../../../resources/kinds/lease.ts';
import { aHost, aLease } from '../../harness/builders.ts';

const NOW_MS = Date.parse('2026-03-01T10:00:00.700Z');
const asker = { user: 'ann', groups: [], operator: true };
const world = new World();
world.set(HOSTS, 'mac-1', aHost(), 1);
const admit = (draft: Lease, previous: Lease) => admitLease(draft, previous, { world, nowMs: NOW_MS, asker });

describe('when a lease has ended', () => {
  const granted = {
    host: 'mac-1',
    hostUID: aHost().metadata.uid,
    grantedAt: '2026-02-01T10:00:00Z',
    earliestEnd: '2026-02-02T10:00:00Z',
  };
  const ends = (endsAt: string) => {
    const previous = aLease({ status: { ...granted, phase: 'Ending', endsAt } });
    return admit({ ...previous, status: { ...previous.status, phase: 'Ended' } }, previous).status;
  };

  it('is told to the second that has begun, as the scrub after it is', () => {
    assert.equal(ends('2026-03-01T10:00:00Z')?.endedAt, '2026-03-01T10:00:00Z');
  });

  it('is never before the instant it was to end at, though the clock was set back', () => {
    assert.equal(ends('2026-03-01T10:00:05Z')?.endedAt, '2026-03-01T10:00:05Z');
  });

  it('is so for one that waited, and for a release that is asked for now', () => {
    const waits = aLease({ status: { phase: 'Pending' } });
    const ended = admit({ ...waits, status: { phase: 'Ended' } }, waits);
    assert.equal(ended.status?.endedAt, '2026-03-01T10:00:00Z');
    const active = aLease({ status: { ...granted, phase: 'Active' } });
    const released = admit({ ...active, spec: { ...active.spec, release: { force: true } } }, active);
    assert.deepEqual(
      [released.spec.release?.requestedAt, released.status?.endsAt],
      ['2026-03-01T10:00:00Z', '2026-03-01T10:00:00Z'],
    );
  });
});

describe('what stays of a lease that was deleted', () => {
  it('is its host until the minimum, where it had one and the minimum was not over', () => {
    const stays = (status: Lease['status'], earliestEnd = '2026-03-02T10:00:00Z') => {
      const whole = { hostUID: aHost().metadata.uid, earliestEnd, ...status };
      return heldHost(aLease({ spec: { releasePolicy: 'WhenAllowed' }, status: whole }), { world, nowMs: NOW_MS });
    };
    assert.deepEqual(stays({ phase: 'Active', host: 'mac-1' }), [
      'host mac-1 stays held for red and is billed until 2026-03-02T10:00:00Z',
    ]);
    assert.deepEqual(stays({ phase: 'Pending' }), []);
    assert.deepEqual(stays({ phase: 'Active', host: 'mac-2' }), [], 'a host that is gone');
    assert.deepEqual(stays({ phase: 'Active', host: 'mac-1' }, '2026-03-01T10:00:00Z'), []);
  });
});
