import assert from 'node:assert/strict';
import type { VM } from '../../../resources/kinds/vm.ts';
import { aPolicy } from '../../harness/a-policy.ts';
import { aTenant, aVM } from '../../harness/builders.ts';
import { CraftedFleet, told } from './crafted-fleet.ts';
import { aLease, bound, claimOf, guest, host, leased, leaving, mac, resolved } from './crafted-objects.ts';

describe('two-macos-guests', () => {
  it('is broken by a third, whatever the host says of slots, and not by Linux guests', () => {
    const fleet = new CraftedFleet([host({ macosSlots: { total: 3, used: 0 } }), mac('a'), mac('b'), bound('tux')]);
    assert.deepEqual(fleet.put(mac('c')), [
      'two-macos-guests: host mac-1 has 3 macOS guests, and may have 2: vm/red/a, vm/red/b, vm/red/c',
    ]);
    assert.deepEqual(fleet.put(host({ macosSlots: { total: 3, used: 3 } })), [
      'two-macos-guests: host mac-1 runs 3 macOS guests, and may run 2',
    ]);
  });

  it('is broken by taking a slot that a guest without a VM holds, not by losing one under a guest', () => {
    const fleet = new CraftedFleet([host(), mac('a'), mac('b')]);
    assert.deepEqual(fleet.put(host({ macosSlots: { total: 1, used: 1 } })), []);
    const other = new CraftedFleet([host({ macosSlots: { total: 1, used: 1 } }), mac('a')]);
    assert.deepEqual(other.put(mac('b')), [
      'two-macos-guests: host mac-1 has 2 macOS guests and 1 slots; vm/red/b took one',
    ]);
  });

  it('holds when one is off, or gone, before the third', () => {
    const off = mac('b', { power: 'Stopped' });
    const fleet = new CraftedFleet([host(), mac('a'), { ...off, status: { guest: guest('b', 'Off') } }]);
    assert.deepEqual(fleet.put(mac('c')), []);
    assert.equal(fleet.put({ ...off, status: { guest: guest('b', 'Starting') } }).length, 1);
  });
});

describe('within-allocatable', () => {
  it('is broken by memory that the host has not', () => {
    const fleet = new CraftedFleet([host(), bound('a', { resolved: resolved({ memory: '12Gi' }) })]);
    assert.deepEqual(fleet.put(bound('b', { resolved: resolved({ memory: '5Gi' }) })), [
      'within-allocatable: host mac-1 can allocate 16Gi, and 17Gi memory are assigned: vm/red/a, vm/red/b',
    ]);
  });

  it('is broken by vCPUs beyond what the classes are guaranteed', () => {
    const wish = (vcpus: number, more: Partial<VM['spec']> = {}) => ({
      resolved: resolved({ vcpus, memory: '1Gi' }),
      ...more,
    });
    const fleet = new CraftedFleet([host(), bound('a', wish(14, { class: 'reserved' })), bound('b', wish(8))]);
    assert.deepEqual(fleet.put(bound('c', wish(1))), [
      'within-allocatable: host mac-1 can allocate 16, and 16.25 guaranteed vCPUs are assigned: vm/red/a, vm/red/b, vm/red/c',
    ]);
    const policy = aPolicy({ hostGroups: [{ name: 'default', flexShare: '1/32' }] });
    assert.deepEqual(
      new CraftedFleet([host(), policy, bound('a', wish(14, { class: 'reserved' }))]).put(bound('c', wish(64))),
      [],
    );
  });

  it('holds when a host offers less than before; not when that is more than there ever was', () => {
    const fleet = new CraftedFleet([
      host({ capacity: { vcpus: 16, memory: '18Gi' } }),
      bound('a', { resolved: resolved({ memory: '12Gi' }) }),
    ]);
    assert.deepEqual(fleet.put(host({ allocatable: { vcpus: 16, memory: '8Gi' } })), []);
    assert.deepEqual(fleet.put(host({ capacity: { vcpus: 16, memory: '10Gi' } })), [
      'within-allocatable: host mac-1 has 10Gi, and 12Gi memory are assigned: vm/red/a',
    ]);
  });

  it('tells apart what stood at the beginning', () => {
    const seen: string[] = [];
    const much = bound('a', { resolved: resolved({ memory: '20Gi' }) });
    new CraftedFleet([host(), much], (found) => seen.push(...found.map(told)));
    assert.deepEqual(seen, [
      'within-allocatable: host mac-1 can allocate 16Gi, and 20Gi memory are assigned: vm/red/a (standing)',
    ]);
  });

  it('counts a guest once that passes from one VM to another', () => {
    const wish = { resolved: resolved({ memory: '12Gi' }), guestID: 'g' };
    const fleet = new CraftedFleet([host(), leaving(bound('member', wish))]);
    assert.deepEqual(fleet.put(bound('taker', wish)), []);
  });
});

describe('within-quota', () => {
  const quota = { maxVMs: 2, maxVCPUs: 6, maxMemory: '8Gi', maxLeasedHosts: 1 };

  it('is broken by one VM too many, by vCPUs and by memory', () => {
    const fleet = new CraftedFleet([aTenant('red', { quota }), aVM({ name: 'a' }), aVM({ name: 'b' })]);
    assert.deepEqual(fleet.put(aVM({ name: 'c' })), [
      'within-quota: tenant red holds 3 of maxVMs 2 since vm/red/c',
      'within-quota: tenant red holds 12Gi of maxMemory 8Gi since vm/red/c',
    ]);
    const large = aVM({ name: 'large', spec: { resolved: resolved({ vcpus: 7, memory: '1Gi' }) } });
    assert.deepEqual(new CraftedFleet([aTenant('red', { quota })]).put(large), [
      'within-quota: tenant red holds 7 of maxVCPUs 6 since vm/red/large',
    ]);
  });

  it('is broken by starting what stood still, and by one host too many', () => {
    const still = aVM({ name: 'c', spec: { power: 'Stopped' } });
    const fleet = new CraftedFleet([aTenant('red', { quota: { maxVCPUs: 2 } }), aVM({ name: 'a' }), still]);
    assert.deepEqual(fleet.put(aVM({ name: 'c' })), ['within-quota: tenant red holds 4 of maxVCPUs 2 since vm/red/c']);
    const second = aLease({ name: 'two', status: { host: 'mac-2', hostUID: 'uid-of-mac-2' } });
    const hosts = new CraftedFleet([aTenant('red', { quota }), leased(), aLease(), host({}, 'mac-2')]);
    assert.deepEqual(hosts.put(second, host({ lease: claimOf(second) }, 'mac-2')), [
      'within-quota: tenant red holds 2 of maxLeasedHosts 1 since host/mac-2',
    ]);
  });

  it('holds for the default, and against it', () => {
    const policy = aPolicy({ defaultQuota: { maxVMs: 1 } });
    const fleet = new CraftedFleet([
      policy,
      aTenant('red'),
      aTenant('blue', { quota: { maxVMs: 5 } }),
      aVM({ name: 'a' }),
    ]);
    assert.deepEqual(fleet.put(aVM({ name: 'x', namespace: 'blue' }), aVM({ name: 'y', namespace: 'blue' })), []);
    assert.deepEqual(fleet.put(aVM({ name: 'b' })), ['within-quota: tenant red holds 2 of maxVMs 1 since vm/red/b']);
  });

  it('holds when a quota is lowered, and when a guest that is gone made room', () => {
    const fleet = new CraftedFleet([aTenant('red', { quota }), aVM({ name: 'a' }), aVM({ name: 'b' })]);
    assert.deepEqual(fleet.put(aTenant('red', { quota: { maxVMs: 1 } })), []);
    assert.deepEqual(fleet.put(leaving(aVM({ name: 'a', status: { guest: guest('a', 'Gone') } }))), []);
    assert.deepEqual(fleet.put(aTenant('red', { quota })), []);
    assert.deepEqual(fleet.put(aVM({ name: 'c' })), []);
  });
});
