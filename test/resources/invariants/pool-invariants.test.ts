import assert from 'node:assert/strict';
import type { VM } from '../../../resources/kinds/vm.ts';
import { aPolicy } from '../../harness/a-policy.ts';
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

  it('is broken by members that do not give way for a minute, whatever came to be too much', () => {
    const said =
      'within-quota: tenant red holds 3 of maxVMs 2, and these do not give way: vm/red/warm-1, vm/red/warm-2';
    const fleet = new CraftedFleet([host(), tenant, warm('warm-1'), warm('warm-2')]);
    assert.deepEqual(step(fleet, [waiting()], []), []);
    assert.deepEqual(step(fleet, [bound('web')], []), []);
    assert.deepEqual(fleet.pass(59_000), []);
    assert.deepEqual(fleet.pass(2_000), [said]);
    const lowered = new CraftedFleet([host(), aTenant('red'), bound('web'), warm('warm-1'), warm('warm-2')]);
    assert.deepEqual(lowered.put(tenant), []);
    assert.deepEqual(lowered.pass(61_000), [said]);
    const begun = new CraftedFleet([host(), aTenant('red', { quota: { maxVMs: 3 } }), aVM({ name: 'x' })]);
    assert.deepEqual(begun.put(warm('warm-1'), warm('warm-2')), []);
    assert.deepEqual(begun.put(aPolicy({ defaultQuota: { maxVMs: 1 } }), aTenant('red')), []);
    assert.equal(begun.pass(61_000).length, 1);
  });

  it('holds when members give way, or others are allowed, within that, and when a quota is less than is held without them', () => {
    const fleet = () => {
      const made = new CraftedFleet([host(), tenant, warm('warm-1'), warm('warm-2')]);
      assert.deepEqual(step(made, [bound('web')], []), []);
      return made;
    };
    const [goes, raised] = [fleet(), fleet()];
    assert.deepEqual(goes.put(leaving(warm('warm-2'))), []);
    assert.deepEqual(raised.put(aTenant('red', { quota: { maxVMs: 3 } })), []);
    for (const each of [goes, raised]) assert.deepEqual(each.pass(600_000), []);
    const lowered = new CraftedFleet([host(), aTenant('red'), bound('a'), bound('b'), leaving(warm('warm-1'))]);
    assert.deepEqual(lowered.put(aTenant('red', { quota: { maxVMs: 1 } })), []);
    assert.deepEqual(lowered.pass(600_000), []);
  });
});
