import assert from 'node:assert/strict';
import type { VM } from '../../../resources/kinds/vm.ts';
import { aTenant, aVM } from '../../harness/builders.ts';
import { CraftedFleet } from './crafted-fleet.ts';
import { bound, guest, host, leaving } from './crafted-objects.ts';

const member: VM = bound('warm-1', { claimable: true, guestID: 'g' }, 'red', { guest: guest('g', 'Running') });
const own = { ...member, spec: { ...member.spec, guestID: member.metadata.uid } };
const waiting = (name = 'web'): VM => aVM({ name });
const taker = (name = 'web', spec: Partial<VM['spec']> = {}): VM =>
  bound(name, { guestID: own.metadata.uid, ...spec }, 'red');

/** In one revision these come to be so, and those go. */
function step(fleet: CraftedFleet, puts: readonly VM[], removes: readonly VM[]): readonly string[] {
  return fleet.at(puts, removes);
}

describe('guest-claimed-once', () => {
  it('holds when a member goes in the revision in which a VM takes its guest', () => {
    const fleet = new CraftedFleet([host(), own, waiting()]);
    assert.deepEqual(step(fleet, [taker()], [own]), []);
  });

  it('is broken by a second one that takes it', () => {
    const fleet = new CraftedFleet([host(), own, waiting(), waiting('late')]);
    assert.deepEqual(step(fleet, [taker()], [own]), []);
    assert.deepEqual(step(fleet, [taker('late')], []), [
      'every-guest-named: guest uid-of-red-warm-1 is named by 2 VMs: vm/red/late, vm/red/web',
      'guest-claimed-once: vm/red/late took guest uid-of-red-warm-1, which no member of a pool gave up',
    ]);
  });

  it('is broken by a member that keeps it, one that was being deleted, and one of another host', () => {
    const said = (setting: readonly VM[], puts: readonly VM[], removes: readonly VM[]) =>
      step(new CraftedFleet([host(), ...setting, waiting()]), puts, removes).filter((each) =>
        each.startsWith('guest-claimed-once'),
      );
    assert.deepEqual(said([own], [taker()], []), [
      'guest-claimed-once: vm/red/web took guest uid-of-red-warm-1, which no member of a pool gave up',
    ]);
    const changed = { ...own, metadata: { ...own.metadata, resourceVersion: '2' } };
    assert.deepEqual(said([own], [taker(), changed], []), [
      'guest-claimed-once: vm/red/web took guest uid-of-red-warm-1, which vm/red/warm-1 has still',
    ]);
    assert.deepEqual(said([leaving(own)], [taker()], [leaving(own)]), [
      'guest-claimed-once: vm/red/web took guest uid-of-red-warm-1, of vm/red/warm-1, which was being deleted',
    ]);
    assert.deepEqual(said([own], [taker('web', { hostName: 'mac-2' })], [own]), [
      'guest-claimed-once: vm/red/web took guest uid-of-red-warm-1, which is on host mac-1',
    ]);
  });

  it('is broken by a guest that was taken from a VM of no pool, or comes to be in one again', () => {
    const { claimable: _, ...spec } = own.spec;
    const plain = { ...own, spec };
    const fleet = new CraftedFleet([host(), plain, waiting()]);
    assert.deepEqual(step(fleet, [taker()], [plain]), [
      'guest-claimed-once: vm/red/web took guest uid-of-red-warm-1, which no member of a pool gave up',
    ]);
    assert.deepEqual(step(fleet, [taker('web', { claimable: true })], []), [
      'guest-claimed-once: vm/red/web is in a pool with guest uid-of-red-warm-1, which was another’s',
    ]);
  });
});

describe('within-quota, with pools', () => {
  const tenant = aTenant('red', { quota: { maxVMs: 2 } });
  const warm = (name: string, spec: Partial<VM['spec']> = {}) => bound(name, { claimable: true, ...spec });

  it('is broken by a member too many', () => {
    const fleet = new CraftedFleet([host(), tenant, waiting(), warm('warm-1')]);
    assert.deepEqual(step(fleet, [warm('warm-2')], []), [
      'within-quota: tenant red holds 3 of maxVMs 2 since vm/red/warm-2',
    ]);
  });

  it('holds when a VM comes that could take a member, and not when it could not', () => {
    const fleet = () => new CraftedFleet([host(), tenant, warm('warm-1'), warm('warm-2')]);
    assert.deepEqual(step(fleet(), [waiting()], []), []);
    for (const other of [{ class: 'reserved' }, { power: 'Stopped' }] as const) {
      const vm = aVM({ name: 'web', spec: other });
      assert.deepEqual(step(fleet(), [vm], []), ['within-quota: tenant red holds 3 of maxVMs 2 since vm/red/web']);
    }
    const twice = fleet();
    assert.deepEqual(step(twice, [waiting('a'), waiting('b')], []), []);
    assert.deepEqual(step(twice, [waiting('c')], []), ['within-quota: tenant red holds 3 of maxVMs 2 since vm/red/c']);
  });
});
