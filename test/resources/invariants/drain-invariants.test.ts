import assert from 'node:assert/strict';
import type { VM } from '../../../resources/kinds/vm.ts';
import { aHost, aTenant } from '../../harness/builders.ts';
import { CraftedFleet } from './crafted-fleet.ts';
import { aLease, bound, drained, GRANTED, guest, host, leased, leaving, resolved } from './crafted-objects.ts';

const READY = { type: 'Ready', status: 'True' as const, reason: 'Running', message: '', lastTransitionTime: GRANTED };
const runs = (id: string, on: string): VM['status'] => ({
  ...{ phase: 'Running', host: on, guest: guest(id, 'Running'), conditions: [READY] },
});

/** VM `a` with guest `g` on mac-1, in binding 1; and `b`, which stands in for it with guest `s` on mac-2, in binding 2. */
const there = bound('a', { guestID: 'g', epoch: 1 }, 'red', runs('g', 'mac-1'));
const standsInFor = { name: 'a', uid: there.metadata.uid };
const standIn = bound('b', { guestID: 's', epoch: 2, hostName: 'mac-2', standsInFor }, 'red', runs('s', 'mac-2'));
/** After the two changed guests. */
const moved = bound('a', { guestID: 's', epoch: 2, hostName: 'mac-2' }, 'red', runs('s', 'mac-2'));
const left = leaving(bound('b', { guestID: 'g', epoch: 1, standsInFor }, 'red', runs('g', 'mac-1')));
const fleet = () => new CraftedFleet([drained('Reschedule'), host({}, 'mac-2'), there, standIn]);

describe('draining-takes-none', () => {
  it('is broken by a VM that is bound or moved to a host that is drained', () => {
    const says = (name: string) => [
      `draining-takes-none: vm/red/${name} is bound to host mac-1, which is drained (Cordon)`,
    ];
    const one = new CraftedFleet([drained(), host({}, 'mac-2'), bound('x', { hostName: 'mac-2' })]);
    assert.deepEqual(one.put(bound('y')), says('y'));
    assert.deepEqual(one.put(bound('x', { epoch: 2 })), says('x'));
  });

  it('holds for VMs that were there, for those bound with the guest of one that was, and for other hosts', () => {
    const one = new CraftedFleet([host(), host({}, 'mac-2'), bound('x')]);
    assert.deepEqual(one.put(drained()), []);
    assert.deepEqual(one.put(bound('x', { power: 'Stopped' })), []);
    assert.deepEqual(one.put(bound('y', { hostName: 'mac-2' })), []);
    assert.deepEqual(fleet().put(moved, left), []);
  });
});

describe('moves-with-guest', () => {
  it('holds when a VM and its stand-in change guests in one revision, and the old one goes after', () => {
    const one = fleet();
    assert.deepEqual(one.put(moved, left), []);
    assert.deepEqual(one.put(leaving({ ...left, status: { guest: guest('g', 'Gone') } })), []);
    assert.deepEqual(one.remove(left), []);
  });

  it('is broken when the VM moves and nobody has the guest that was', () => {
    const one = fleet();
    assert.deepEqual(
      one.put(moved).filter((line) => line.startsWith('moves')),
      ['moves-with-guest: vm/red/a left guest g on host mac-1, and no VM names it'],
    );
  });

  it('is broken when the VM is told to be ready of a guest or a host that is not its own', () => {
    const cases = [
      [runs('g', 'mac-2'), 'tells of guest g while its own is s'],
      [runs('s', 'mac-1'), 'tells of host mac-1 while it is bound to mac-2'],
      [{ ...runs('s', 'mac-2'), guest: guest('s', 'Off') }, 'its guest is Off'],
      [{ phase: 'Running' as const, host: 'mac-2', conditions: [READY] }, 'its guest is not there'],
    ] as const;
    for (const [status, why] of cases) {
      assert.deepEqual(fleet().put({ ...moved, status }, left), [`moves-with-guest: vm/red/a is Ready, and ${why}`]);
    }
  });

  it('is broken when an older binding wins', () => {
    const one = fleet();
    one.put(moved, left);
    assert.deepEqual(one.put({ ...moved, spec: { ...moved.spec, epoch: 1 } }), [
      'moves-with-guest: vm/red/a went from binding 2 to 1 (host mac-2 to mac-2)',
    ]);
  });
});

describe('a VM and the one that stands in for it', () => {
  const quota = { maxVMs: 1, maxVCPUs: 2, maxMemory: '4Gi' };
  const withQuota = (...vms: readonly VM[]) =>
    new CraftedFleet([aTenant('red', { quota }), host(), host({}, 'mac-2'), ...vms]);

  it('count once in the quota, unless the second has more', () => {
    assert.deepEqual(withQuota(there).put(standIn), []);
    const larger = { ...standIn, spec: { ...standIn.spec, resolved: resolved({ memory: '6Gi' }) } };
    assert.deepEqual(withQuota(there).put(larger), [
      'within-quota: tenant red holds 6Gi of maxMemory 4Gi since vm/red/b',
    ]);
  });

  it('count once with another that still goes, also when the VM is seen to be paused and runs again', () => {
    const goes = leaving(bound('c', { guestID: 't', epoch: 3, hostName: 'mac-2', standsInFor }, 'red'));
    const paused = { ...there, spec: { ...there.spec, power: 'Paused' as const } };
    const seen = { ...paused, status: { ...paused.status, guest: guest('g', 'Paused') } };
    const two = aTenant('red', { quota: { maxVMs: 2, maxVCPUs: 4, maxMemory: '8Gi' } });
    const one = new CraftedFleet([two, host(), host({}, 'mac-2'), there, standIn, goes]);
    assert.deepEqual([...one.put(paused), ...one.put(seen)], []);
    assert.deepEqual(one.put(bound('d', { hostName: 'mac-2' }, 'red')), []);
    assert.deepEqual(one.put({ ...there, status: seen.status }), []);
    assert.deepEqual(one.put(bound('e', { hostName: 'mac-3' }, 'red')), [
      'within-quota: tenant red holds 3 of maxVMs 2 since vm/red/e',
      'within-quota: tenant red holds 6 of maxVCPUs 4 since vm/red/e',
      'within-quota: tenant red holds 12Gi of maxMemory 8Gi since vm/red/e',
    ]);
  });

  it('count as two when it is not that VM', () => {
    const other = { ...standIn, spec: { ...standIn.spec, standsInFor: { ...standsInFor, uid: 'another' } } };
    const [first] = withQuota(there).put(other);
    assert.equal(first, 'within-quota: tenant red holds 2 of maxVMs 1 since vm/red/b');
  });

  it('take nothing of the room of a host, nor come to it, when they change guests', () => {
    const small = { ...host(), status: { ...host().status, allocatable: { vcpus: 1, memory: '1Gi' } } };
    const one = new CraftedFleet([host(), host({}, 'mac-2'), there, standIn]);
    assert.deepEqual(one.put(small), []);
    assert.deepEqual(one.put(moved, left), []);
    const mac = (name: string) => aHost({ name });
    const two = new CraftedFleet(
      [
        leased(aLease({ namespace: 'blue', name: 'l' })),
        mac('mac-2'),
        there,
        standIn,
        aLease({ namespace: 'blue', name: 'l' }),
      ],
      () => {},
    );
    assert.deepEqual(two.put(moved, left), []);
  });
});
