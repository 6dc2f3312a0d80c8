import assert from 'node:assert/strict';
import fc from 'fast-check';
import { decide, isLeaving, membership } from '../../../controllers/leaseset/decide.ts';
import type { Lease } from '../../../resources/kinds/lease.ts';
import type { LeaseSet } from '../../../resources/kinds/lease-set.ts';
import { aLease } from '../../harness/builders.ts';

const NOW_MS = Date.parse('2026-03-02T12:00:00Z');
const HOUR_MS = 3_600_000;
const at = (hours: number) => new Date(NOW_MS + hours * HOUR_MS).toISOString().replace('.000Z', 'Z');

type Wish = Parameters<typeof aLease>[0];

const named = (name: string, wish: Wish = {}): Lease => {
  const lease = aLease(wish);
  return { ...lease, metadata: { ...lease.metadata, name, uid: `uid-of-${name}` } };
};
const waiting = (name: string) => named(name, { status: { phase: 'Pending' } });
/** Granted so many hours ago, for a day. */
const held = (
  name: string,
  hoursAgo: number,
  more: Partial<NonNullable<Lease['status']>> = {},
  spec: Partial<Lease['spec']> = {},
) =>
  named(name, {
    spec,
    status: { phase: 'Active', host: name, grantedAt: at(-hoursAgo), earliestEnd: at(24 - hoursAgo), ...more },
  });
const names = (leases: readonly Lease[]) => leases.map(({ metadata }) => metadata.name);
const BUSY = () => false;

describe('which leases of a set go, and how many are made', () => {
  it('makes what is missing', () => {
    const plan = decide([held('a', 1)], 3, BUSY, NOW_MS);
    assert.deepEqual([plan.make, plan.drop, plan.release, plan.surplus], [2, [], [], []]);
  });

  it('drops first what waits, the newest first; then releases what is past its minimum, idle before busy, old before new', () => {
    const all = [held('old', 50), held('older', 60), held('idle', 30), held('young', 2), waiting('w')];
    const isIdle = ({ metadata }: Lease) => metadata.name === 'idle';
    const gone = (wanted: number) => {
      const { drop, release, surplus } = decide(all, wanted, isIdle, NOW_MS);
      return [names(drop), names(release), names(surplus)];
    };
    assert.deepEqual(gone(5), [[], [], []]);
    assert.deepEqual(gone(4), [['w'], [], []]);
    assert.deepEqual(gone(3), [['w'], ['idle'], []]);
    assert.deepEqual(gone(2), [['w'], ['idle', 'older'], []]);
    assert.deepEqual(gone(1), [['w'], ['idle', 'older', 'old'], []]);
    assert.deepEqual(gone(0), [['w'], ['idle', 'older', 'old'], ['young']]);
  });

  it('says when the first that is surplus can go', () => {
    const plan = decide([held('a', 3), held('b', 20), held('c', 10)], 1, BUSY, NOW_MS);
    assert.deepEqual(names(plan.surplus), ['b', 'c']);
    assert.equal(plan.nextReleaseMs, NOW_MS + 4 * HOUR_MS);
    assert.equal(decide([held('a', 3)], 1, BUSY, NOW_MS).nextReleaseMs, undefined);
  });

  it('releases at the instant at which the minimum is over, not a millisecond before', () => {
    const lease = held('a', 24);
    assert.deepEqual(names(decide([lease], 0, BUSY, NOW_MS).release), ['a']);
    assert.deepEqual(names(decide([lease], 0, BUSY, NOW_MS - 1).surplus), ['a']);
  });

  it('does not count what is as good as over, and replaces it', () => {
    const leaving = [
      held('ending', 30, { phase: 'Ending' }),
      held('ended', 30, { phase: 'Ended' }),
      held('due', 30, { endsAt: at(0) }),
      { ...held('deleted', 30), metadata: { ...held('deleted', 30).metadata, deletionTimestamp: at(0) } },
      named('dropped', { spec: { release: {} }, status: { phase: 'Pending' } }),
    ];
    for (const lease of leaving.filter(({ metadata }) => metadata.name !== 'ended'))
      assert.equal(isLeaving(lease, NOW_MS), true, lease.metadata.name);
    assert.equal(decide(leaving, 2, BUSY, NOW_MS).make, 2);
    assert.equal(isLeaving(held('later', 30, { endsAt: at(1) }), NOW_MS), false);
    assert.equal(
      isLeaving(named('w', { spec: { release: { at: at(1) } }, status: { phase: 'Pending' } }), NOW_MS),
      false,
    );
  });

  it('takes back releases that it, or the garbage duty, asked for: nobody else’s, none that has begun', () => {
    const by = (user: string) => ({ release: { at: at(0), by: user } });
    const ours = 'system:controller:leaseset';
    const released = (name: string, user: string) => held(name, 30, { endsAt: at(0) }, by(user));
    const plan = decide(
      [
        released('mine', ours),
        released('garbage', 'system:controller:garbage'),
        released('ann', 'ann'),
        held('begun', 30, { phase: 'Ending' }, by(ours)),
        held('forced', 30, { endsAt: at(0) }, { release: { force: true, by: ours } }),
      ],
      3,
      BUSY,
      NOW_MS,
    );
    assert.deepEqual([names(plan.keep).sort(), plan.make], [['garbage', 'mine'], 1]);
    const two = decide([released('a', ours), released('b', ours)], 1, BUSY, NOW_MS);
    assert.deepEqual([two.keep.length, two.make], [1, 0], 'no more than are wanted');
    const later = held('later', 2, { endsAt: at(22) }, { release: { at: at(22), by: 'system:controller:garbage' } });
    assert.deepEqual(names(decide([later], 1, BUSY, NOW_MS).keep), ['later']);
    assert.deepEqual(names(decide([later], 0, BUSY, NOW_MS).keep), [], 'one that nobody wants goes when it was to go');
  });

  it('never lets go of what is inside its minimum, and leaves exactly as many as are wanted besides', () => {
    const lease = fc.record({ hoursAgo: fc.integer({ min: 0, max: 48 }), pending: fc.boolean(), idle: fc.boolean() });
    fc.assert(
      fc.property(fc.array(lease, { maxLength: 12 }), fc.integer({ min: 0, max: 12 }), (of, wanted) => {
        const all = of.map(({ hoursAgo, pending }, i) => (pending ? waiting(`l${i}`) : held(`l${i}`, hoursAgo)));
        const isIdle = ({ metadata }: Lease) => of[Number(metadata.name.slice(1))]?.idle === true;
        const { make, drop, release, surplus } = decide(all, wanted, isIdle, NOW_MS);
        for (const { status } of release) assert.ok(Date.parse(status?.earliestEnd ?? '') <= NOW_MS);
        assert.ok(drop.every(({ status }) => status?.phase === 'Pending'));
        const left = all.length - drop.length - release.length;
        assert.equal(left + make, wanted + surplus.length);
        if (make > 0) assert.deepEqual([drop, release, surplus], [[], [], []]);
        // Nothing that is wanted goes while something that costs nothing, or need not be paid for, could.
        if (surplus.length > 0) assert.ok(all.every((one) => drop.includes(one) || one.status?.phase !== 'Pending'));
        assert.deepEqual(
          decide(all.toReversed(), wanted, isIdle, NOW_MS).release.map((one) => one.metadata.name),
          names(release),
          'in whatever order they are found',
        );
      }),
    );
  });
});

describe('whose a lease is', () => {
  const set: LeaseSet = {
    apiVersion: 'coppice.dev/v1',
    kind: 'LeaseSet',
    metadata: { name: 'ci', namespace: 'red', uid: 'u', resourceVersion: '1', creationTimestamp: at(0) },
    spec: { replicas: 1, template: { spec: { releasePolicy: 'Refuse' } } },
  };
  const mine = { apiVersion: 'coppice.dev/v1', kind: 'LeaseSet', name: 'ci', uid: 'u', controller: true };
  const label = { 'coppice.dev/lease-set': 'ci' };
  const one = (name: string, metadata: Partial<Lease['metadata']>, phase: 'Active' | 'Ended' = 'Active'): Lease => {
    const lease = held(name, 1, { phase });
    return { ...lease, metadata: { ...lease.metadata, ...metadata } };
  };

  it('is a set’s that controls it, while it has its label and is not over', () => {
    const found = [
      one('member', { labels: label, ownerReferences: [mine] }),
      one('unlabelled', { ownerReferences: [mine] }),
      one('record', { labels: label, ownerReferences: [mine] }, 'Ended'),
      one('orphan', { labels: label }),
      one('old record', { labels: label }, 'Ended'),
      one('going', { labels: label, deletionTimestamp: at(0) }),
      one('of the set before', { labels: label, ownerReferences: [{ ...mine, uid: 'before' }] }),
      one('of another', { labels: label, ownerReferences: [{ ...mine, kind: 'Team' }] }),
      one('held too', { labels: label, ownerReferences: [{ ...mine, kind: 'Team', controller: false }] }),
    ];
    const { members, adopt, disown } = membership(set, found);
    assert.deepEqual(
      [names(members), names(adopt), names(disown)],
      [['member'], ['orphan', 'held too'], ['unlabelled', 'record']],
    );
  });
});
