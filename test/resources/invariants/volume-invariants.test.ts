import assert from 'node:assert/strict';
import type { VM } from '../../../resources/kinds/vm.ts';
import type { Volume } from '../../../resources/kinds/volume.ts';
import { aVolume } from '../../builders/volume.ts';
import { aTenant } from '../../harness/builders.ts';
import { CraftedFleet } from './crafted-fleet.ts';
import { aLease, bound, claimOf, GRANTED, guest, host, leaving, pending } from './crafted-objects.ts';

const having = (name: string, more: Partial<VM['spec']> = {}): VM =>
  bound(name, { volumes: [{ name: 'data' }], ...more });
const removed = (volume: Volume): Volume => ({
  ...volume,
  metadata: { ...volume.metadata, deletionTimestamp: GRANTED },
});
const lost = aVolume({ status: { phase: 'Lost' } });

describe('one-vm-per-volume', () => {
  it('is broken by a second VM, whether it runs or waits', () => {
    const fleet = new CraftedFleet([host(), aVolume(), having('a')]);
    const { hostName: _, ...waiting } = having('b').spec;
    assert.deepEqual(fleet.put({ ...having('b'), spec: waiting }), [
      'one-vm-per-volume: volume/red/data is that of vm/red/a and vm/red/b',
    ]);
  });

  it('holds when the guest of the first is gone, not when its object only leaves', () => {
    const gone = leaving({ ...having('a'), status: { guest: guest('a', 'Gone') } });
    assert.deepEqual(new CraftedFleet([host(), aVolume(), gone]).put(having('b')), []);
    const leaves = leaving({ ...having('a'), status: { guest: guest('a', 'Running') } });
    assert.equal(new CraftedFleet([host(), aVolume(), leaves]).put(having('b')).length, 1);
  });

  it('is of volumes of one namespace: another tenant’s has the name for itself', () => {
    const fleet = new CraftedFleet([host(), aVolume(), having('a')]);
    const others = bound('b', { volumes: [{ name: 'data' }] }, 'blue');
    assert.equal(
      fleet.put(others, aVolume({ namespace: 'blue' })).some((line) => line.startsWith('one-vm')),
      false,
    );
  });

  it('is broken by deleting or giving up what a VM has', () => {
    const fleet = () => new CraftedFleet([host(), aVolume(), having('a')]);
    assert.deepEqual(fleet().put(removed(aVolume())), ['one-vm-per-volume: volume/red/data is deleted under vm/red/a']);
    assert.deepEqual(fleet().put(lost), ['one-vm-per-volume: volume/red/data is given up under vm/red/a']);
    assert.deepEqual(new CraftedFleet([host(), aVolume()]).put(lost), []);
    const given = fleet();
    given.remove(host());
    assert.deepEqual(given.put(lost), [], 'with its host');
  });
});

describe('volume-on-its-host', () => {
  it('is broken by a VM that is bound elsewhere, or without its volume', () => {
    const fleet = new CraftedFleet([host(), host({}, 'mac-2'), aVolume()]);
    assert.deepEqual(fleet.put(having('a', { hostName: 'mac-2' })), [
      'volume-on-its-host: vm/red/a was bound to host mac-2, and its volume data lies on mac-1',
    ]);
    assert.deepEqual(new CraftedFleet([host()]).put(having('a')), [
      'volume-on-its-host: vm/red/a was bound to host mac-1, and its volume data is not there',
    ]);
  });

  it('is broken by one that is bound to what is stranded, lost, or of a host that was given up', () => {
    const bindsTo = (status: Volume['status']) => new CraftedFleet([host(), aVolume({ status })]).put(having('a'));
    assert.match(bindsTo({ phase: 'Stranded' })[0] ?? '', /its volume data is Stranded$/);
    assert.match(bindsTo({ phase: 'Lost' })[0] ?? '', /its volume data is Lost$/);
    assert.match(bindsTo({ hostUID: 'another' })[0] ?? '', /its volume data lay on another host of that name$/);
    assert.deepEqual(bindsTo({ phase: 'Attached' }), []);
  });

  it('is broken by a volume that moves, gets another id, or is found again', () => {
    const fleet = () => new CraftedFleet([host(), aVolume({ status: { id: 'vol-000000000001' } })]);
    assert.deepEqual(fleet().put(aVolume({ host: 'mac-2', status: { id: 'vol-000000000001' } })), [
      'volume-on-its-host: volume/red/data moved from host mac-1 to mac-2',
    ]);
    assert.deepEqual(fleet().put(aVolume({ status: { id: 'vol-000000000002' } })), [
      'volume-on-its-host: volume/red/data had id vol-000000000001, and has vol-000000000002',
    ]);
    assert.deepEqual(new CraftedFleet([host(), lost]).put(aVolume()), [
      'volume-on-its-host: volume/red/data was lost, and is not any more',
    ]);
  });
});

describe('lessee-alone, of volumes', () => {
  const lease = aLease({ namespace: 'blue' });
  const broken = ['lessee-alone: volume/red/data is bound to host mac-1, which is leased to blue by lease ci'];

  it('is broken by a lease of a host that has one of others, and by one that comes after', () => {
    assert.deepEqual(new CraftedFleet([host(), aVolume()]).put(lease, host({ lease: claimOf(lease) })), broken);
    assert.deepEqual(new CraftedFleet([lease, host({ lease: claimOf(lease) })]).put(aVolume()), broken);
  });

  it('holds for what is its own, or lost', () => {
    const own = aVolume({ namespace: 'blue' });
    assert.deepEqual(new CraftedFleet([host(), own, lost]).put(lease, host({ lease: claimOf(lease) })), []);
  });
});

describe('within-quota, of volumes', () => {
  const tenant = aTenant('red', { quota: { maxVolumeSize: '80Gi' } });

  it('is broken by one too many, or by one that grows', () => {
    const fleet = new CraftedFleet([host(), tenant, aVolume()]);
    assert.deepEqual(fleet.put(aVolume({ name: 'more', size: '40Gi' })), [
      'within-quota: tenant red holds 90Gi of maxVolumeSize 80Gi since volume/red/more',
    ]);
    assert.deepEqual(new CraftedFleet([host(), tenant, aVolume()]).put(aVolume({ size: '81Gi' })), [
      'within-quota: tenant red holds 81Gi of maxVolumeSize 80Gi since volume/red/data',
    ]);
  });

  it('holds for what waits for a host, and for what is lost', () => {
    const fleet = new CraftedFleet([host(), tenant, aVolume()]);
    assert.deepEqual(fleet.put(aVolume({ name: 'more', size: '40Gi', host: undefined })), []);
    assert.deepEqual(new CraftedFleet([host(), tenant, lost]).put(aVolume({ name: 'more', size: '40Gi' })), []);
  });
});

describe('scrub-before-free, of volumes', () => {
  const past = (namespace: string, more: object = {}) => ({
    pastLeases: [{ namespace, name: 'ci', uid: 'u', since: GRANTED, endedAt: GRANTED, billedUntil: GRANTED, ...more }],
  });
  const lease = aLease({ name: 'again' });
  const again = (status: object) => ({ ...host({ ...status, lease: claimOf(lease) }) });
  const taken = (status: object, ...objects: readonly Volume[]) =>
    new CraftedFleet([pending('True', GRANTED, status), aTenant('red'), ...objects]).put(lease, again(status));

  it('holds when the tenant whose it was last, and whose volumes it has, leases it again', () => {
    assert.deepEqual(taken(past('red'), aVolume()), []);
  });

  it('is broken by any other who leases it without a scrub', () => {
    const broken = ['scrub-before-free: host mac-1 is leased to red without a scrub'];
    assert.deepEqual(taken(past('blue'), aVolume()), broken);
    assert.deepEqual(taken(past('red')), broken, 'nothing of it is there');
    const mixed = taken(past('red'), aVolume(), aVolume({ name: 'b', namespace: 'blue' }));
    assert.deepEqual(
      mixed.filter((line) => line.startsWith('scrub-before-free')),
      broken,
    );
    assert.deepEqual(taken(past('red', { scrubbedAt: GRANTED }), aVolume()), broken);
  });

  it('is broken by a scrub that succeeded and left a volume', () => {
    const running = { scrub: { requestedAt: GRANTED, outcome: 'Running' } } as const;
    const done = { scrub: { requestedAt: GRANTED, outcome: 'Succeeded', finishedAt: GRANTED } } as const;
    const scrubbed = (volume: Volume) =>
      new CraftedFleet([pending('True', GRANTED, running), volume]).put(pending('False', GRANTED, done));
    assert.deepEqual(scrubbed(aVolume()), ['scrub-before-free: host mac-1 was scrubbed, and volume/red/data is there']);
    assert.deepEqual(scrubbed(lost), []);
  });
});
