import assert from 'node:assert/strict';
import type { Host } from '../../../resources/kinds/host.ts';
import type { Lease } from '../../../resources/kinds/lease.ts';
import type { VM } from '../../../resources/kinds/vm.ts';
import { aPolicy } from '../../harness/a-policy.ts';
import { aHost } from '../../harness/builders.ts';
import { CraftedFleet, told } from './crafted-fleet.ts';
import { A_DAY_LATER, aLease, bound, claimOf, GRANTED, guest, host, leased, pending } from './crafted-objects.ts';

describe('one-lease-per-host', () => {
  it('is broken by a second lease that is active on a host', () => {
    const fleet = new CraftedFleet([leased(), aLease()]);
    const second = aLease({ namespace: 'blue', name: 'x' });
    const [first = '', ...more] = fleet.put(second);
    assert.equal(
      first,
      'one-lease-per-host: host mac-1 has 2 leases at once: lease/blue/x (Active), lease/red/ci (Active)',
    );
    assert.deepEqual(more, [
      'one-lease-per-host: lease/blue/x is Active on host mac-1, which says it is leased to red by lease ci',
    ]);
  });

  it('is broken by a lease that its host does not know, and by a host that knows one too many', () => {
    assert.deepEqual(new CraftedFleet([host()]).put(aLease()), [
      'one-lease-per-host: lease/red/ci is Active on host mac-1, which says it is not leased',
    ]);
    assert.deepEqual(new CraftedFleet([host()]).put(leased()), [
      'one-lease-per-host: host mac-1 says it is leased to red by lease ci (uid-of-red-ci), which is not active on it',
    ]);
  });

  it('holds where both are written at once, where the claim outlives the lease, and on a host that was made anew', () => {
    const fleet = new CraftedFleet([host()]);
    assert.deepEqual(fleet.put(leased(), aLease()), []);
    const { metadata } = aHost();
    assert.deepEqual(fleet.put(leased(aLease(), { released: true })), []);
    assert.deepEqual(fleet.remove(aLease()), []);
    const other = new CraftedFleet([leased(), aLease()]);
    assert.deepEqual(other.remove(leased()), []);
    const again = pending('True', A_DAY_LATER);
    assert.deepEqual(other.put({ ...again, metadata: { ...metadata, uid: 'another' } }), []);
  });
});

describe('lessee-alone', () => {
  it('is broken by binding a VM of another tenant, and by leasing a host that has one', () => {
    assert.deepEqual(new CraftedFleet([leased(), aLease()]).put(bound('web', {}, 'blue')), [
      'lessee-alone: vm/blue/web is bound to host mac-1, which is leased to red by lease ci',
    ]);
    assert.deepEqual(new CraftedFleet([host(), bound('web', {}, 'blue')]).put(leased(), aLease()), [
      'lessee-alone: vm/blue/web is bound to host mac-1, which is leased to red by lease ci',
    ]);
  });

  it('is seen in what there is at the beginning', () => {
    const seen: string[] = [];
    new CraftedFleet([leased(), aLease(), bound('web', {}, 'blue')], (found) => seen.push(...found.map(told)));
    assert.deepEqual(seen, ['lessee-alone: vm/blue/web is bound to host mac-1, which is leased to red by lease ci']);
  });

  it('holds for the lessee, where the policy shares, and for those who were there when an operator allowed it', () => {
    const fleet = new CraftedFleet([leased(), aLease()]);
    assert.deepEqual(fleet.put(bound('own')), []);
    assert.deepEqual(fleet.put(aPolicy({ exclusiveLeasedHosts: false })), []);
    assert.deepEqual(fleet.put(bound('web', {}, 'blue')), []);
    assert.deepEqual(fleet.put(aPolicy({ exclusiveLeasedHosts: true })), []);
    const overrides = [{ what: 'AllowBusy' as const, by: 'op', at: GRANTED }];
    const busy = new CraftedFleet([host(), bound('web', {}, 'blue')]);
    assert.deepEqual(busy.put(leased(), aLease({ status: { overrides } })), []);
    assert.equal(busy.put(bound('late', {}, 'blue')).length, 1);
  });
});

describe('lease-minimum', () => {
  const ended = (endedAt: string, more: Partial<Lease['status']> = {}) =>
    aLease({ status: { phase: 'Ended', endedAt, billedUntil: A_DAY_LATER, ...more } });
  const fleet = () => new CraftedFleet([leased(), aLease()]);
  const freed = () => pending('True', A_DAY_LATER);

  it('is broken by an end before 24 hours that no operator forced', () => {
    assert.deepEqual(fleet().put(ended('2026-01-01T23:59:59Z'), freed()), [
      'lease-minimum: lease/red/ci has ended after 23h of at least 24h, from 2026-01-01T00:00:00Z to 2026-01-01T23:59:59Z, and no operator forced it',
    ]);
    const overrides = [{ what: 'ForcedRelease' as const, by: 'op', at: GRANTED }];
    assert.deepEqual(fleet().put(ended('2026-01-01T01:00:00Z', { overrides }), freed()), []);
    assert.deepEqual(fleet().put(ended(A_DAY_LATER), freed()), []);
  });

  it('is broken by a longer minimum that was promised and not kept, and by too short a promise', () => {
    const promised = { earliestEnd: '2026-01-03T00:00:00Z' };
    const long = new CraftedFleet([leased(), aLease({ status: promised })]);
    assert.deepEqual(long.put(ended(A_DAY_LATER, { ...promised, billedUntil: promised.earliestEnd }), freed()), [
      'lease-minimum: lease/red/ci has ended after 24h of at least 2d, from 2026-01-01T00:00:00Z to 2026-01-02T00:00:00Z, and no operator forced it',
    ]);
    const short = aLease({ status: { earliestEnd: '2026-01-01T12:00:00Z' } });
    assert.deepEqual(new CraftedFleet([host()]).put(leased(), short), [
      'lease-minimum: lease/red/ci may end at 2026-01-01T12:00:00Z, 12h after its grant at 2026-01-01T00:00:00Z',
    ]);
  });

  it('is broken by a bill that ends too early, a beginning that moves, and an end that is taken back', () => {
    const cheap = { overrides: [{ what: 'ForcedRelease' as const, by: 'op', at: GRANTED }], billedUntil: GRANTED };
    assert.deepEqual(fleet().put(ended(GRANTED, cheap), freed()), [
      'lease-minimum: lease/red/ci is billed until 2026-01-01T00:00:00Z, before its minimum is over at 2026-01-02T00:00:00Z',
    ]);
    const later = { grantedAt: '2026-01-01T01:00:00Z', earliestEnd: '2026-01-02T01:00:00Z' };
    assert.deepEqual(fleet().put(aLease({ status: later })), [
      'lease-minimum: lease/red/ci had grantedAt 2026-01-01T00:00:00Z, and now 2026-01-01T01:00:00Z',
      'lease-minimum: lease/red/ci had earliestEnd 2026-01-02T00:00:00Z, and now 2026-01-02T01:00:00Z',
    ]);
    const over = fleet();
    assert.deepEqual(over.put(ended(A_DAY_LATER), freed()), []);
    assert.match(over.put(aLease(), leased()).join(), /lease-minimum: lease\/red\/ci was Ended, and is Active/);
  });

  it('is broken by letting a host go that is held for a lease that was deleted', () => {
    const held = () => new CraftedFleet([leased(aLease(), { released: true })]);
    assert.deepEqual(held().put(pending('True', '2026-01-01T05:00:00Z')), [
      'lease-minimum: host mac-1 was held for red until 2026-01-02T00:00:00Z, and was let go at 2026-01-01T05:00:00Z',
    ]);
    assert.deepEqual(held().put(pending('True', A_DAY_LATER)), []);
  });
});

describe('scrub-before-free', () => {
  const scrub = (outcome: 'Running' | 'Succeeded' | 'Failed', startedAt: string) => ({
    requestedAt: startedAt,
    outcome,
    startedAt,
    finishedAt: startedAt,
  });
  const LATER = '2026-01-02T00:10:00Z';
  const waits = () => new CraftedFleet([pending('True', A_DAY_LATER)]);
  /** And is being scrubbed. */
  const cleared = (...others: readonly VM[]) =>
    new CraftedFleet([pending('True', A_DAY_LATER, { scrub: scrub('Running', LATER) }), ...others]);

  it('is broken by a host that is let go without waiting for a scrub', () => {
    const end = aLease({ status: { phase: 'Ended', endedAt: A_DAY_LATER, billedUntil: A_DAY_LATER } });
    assert.deepEqual(new CraftedFleet([leased(), aLease()]).put(host(), end), [
      'scrub-before-free: host mac-1 is not leased to red any more, and does not wait for a scrub',
    ]);
  });

  it('is broken by a host that is free after none, a failed one, or one from before', () => {
    const none = 'scrub-before-free: host mac-1 does not wait for a scrub any more, and its last one is';
    assert.deepEqual(waits().put(pending('False', LATER)), [`${none} none`]);
    assert.deepEqual(waits().put(pending('False', LATER, { scrub: scrub('Failed', LATER) })), [`${none} Failed`]);
    const old = scrub('Succeeded', GRANTED);
    const scrubbedBefore = new CraftedFleet([pending('True', A_DAY_LATER, { scrub: old })]);
    assert.deepEqual(scrubbedBefore.put(pending('False', LATER, { scrub: old })), [
      'scrub-before-free: host mac-1 does not wait for a scrub any more, and no scrub ended with that; its last one was over at 2026-01-01T00:00:00Z',
    ]);
    assert.deepEqual(cleared().put(pending('False', LATER, { scrub: scrub('Succeeded', LATER) })), []);
  });

  it('is broken by a scrub of a host that is leased', () => {
    assert.deepEqual(
      new CraftedFleet([leased(), aLease()]).put(host({ lease: claimOf(aLease()), scrub: scrub('Running', LATER) })),
      ['scrub-before-free: host mac-1 is leased to red by lease ci, and is being scrubbed'],
    );
  });

  it('is broken by a scrub that leaves guests', () => {
    const orphans = [{ id: 'g', label: 'x', power: 'Running' }];
    assert.deepEqual(cleared().put(pending('False', LATER, { scrub: scrub('Succeeded', LATER), orphans })), [
      'scrub-before-free: host mac-1 was scrubbed, and has guests that nobody names: g',
    ]);
    const vm = bound('a', {}, 'red', { guest: guest('a', 'Off') });
    const fleet = cleared(vm);
    assert.deepEqual(fleet.put(pending('False', LATER, { scrub: scrub('Succeeded', LATER) })), [
      'scrub-before-free: host mac-1 was scrubbed, and vm/red/a is there',
    ]);
  });

  it('is broken by a host that is made anew free after it was given up leased or waiting, and by strangers beside an orphan', () => {
    const again = (made: Host): Host => ({ ...made, metadata: { ...made.metadata, uid: 'another' } });
    const anew =
      'scrub-before-free: host mac-1 was made anew, and does not wait for a scrub; the one before it was given up';
    const orphans = [{ id: 'g', label: 'red/web', power: 'Running' }];
    const fleet = new CraftedFleet([leased(), aLease()]);
    assert.deepEqual(fleet.remove(leased()), []);
    assert.deepEqual(fleet.put(again(host({ orphans }))), [`${anew} leased to red by lease ci`]);
    assert.deepEqual(fleet.put(bound('b', {}, 'blue')), [
      'scrub-before-free: host mac-1 took vm/blue/b beside guests that nobody names (red/web), and was not scrubbed since it was made anew',
    ]);
    const waiting = waits();
    waiting.remove(host());
    assert.deepEqual(waiting.put(again(host())), [`${anew} waiting for a scrub`]);
    const busy = new CraftedFleet([host({ orphans })]);
    busy.remove(host());
    assert.deepEqual(busy.put(again(host())), [`${anew} with 1 guest on it`]);
  });

  it('holds where it waits again, and where it was clear', () => {
    const waiting = waits();
    waiting.remove(host());
    const again = pending('True', LATER);
    assert.deepEqual(waiting.put({ ...again, metadata: { ...again.metadata, uid: 'another' } }), []);
    const clear = new CraftedFleet([host()]);
    clear.remove(host());
    assert.deepEqual(clear.put(host()), []);
  });

  it('is broken by a VM that is bound, and by a lease that is granted, before', () => {
    assert.deepEqual(waits().put(bound('a')), ['scrub-before-free: host mac-1 took vm/red/a, and waits for a scrub']);
    const { status } = pending('True', A_DAY_LATER, { lease: claimOf(aLease()) });
    assert.deepEqual(waits().put(aLease(), { ...host(), status }), [
      'scrub-before-free: host mac-1 is leased to red by lease ci, and waits for a scrub',
    ]);
  });
});
