import assert from 'node:assert/strict';
import type { Host } from '../../resources/kinds/host.ts';
import type { Volume } from '../../resources/kinds/volume.ts';
import { findCondition, isTrue } from '../../resources/meta/condition.ts';
import { aVolume } from '../builders/volume.ts';
import { NodeletWorld } from './nodelet-world.ts';

const GIB = 1024 ** 3;
const ID = 'vol-0123456789ab';

describe('nodelet: the file of a volume', () => {
  let world: NodeletWorld;
  beforeEach(async () => {
    world = await NodeletWorld.make();
    await world.start();
    await world.until('the host is told of', () => world.host()?.status?.capacity);
  });
  afterEach(() => world[Symbol.asyncDispose]());

  const volume = () => world.api.get<Volume>('volumes/demo/data');
  const file = () => {
    const found = volume();
    const ready = found && findCondition(found, 'FileReady');
    return ready === undefined ? undefined : `${ready.status} ${ready.reason} ${found?.status?.size ?? ''}`.trim();
  };
  /** A volume as admission and the duty leave it: it lies on this host, and nobody has told of its file. */
  const put = (status: Volume['status'] = {}, size = '10Gi') => {
    const { conditions: _, size: __, ...made } = aVolume().status ?? {};
    const hostUID = world.host()?.metadata.uid ?? '';
    const base = aVolume({ namespace: 'demo', size });
    world.api.put('volumes', { ...base, status: { ...made, hostUID, id: ID, ...status } } as Volume);
  };
  const change = (spec: Partial<Volume['spec']>) =>
    world.api.change('volumes', 'demo/data', (object) => {
      const found = object as Volume;
      return { ...found, spec: { ...found.spec, ...spec } } as Volume;
    });
  const uses = { volumes: [{ name: 'data' }] };

  it('is made, told of, and taken off what is free', async () => {
    put();
    await world.until('it is told of', () => file() === 'True FileThere 10Gi');
    assert.deepEqual([...world.volumes], [[ID, 10 * GIB]]);
    await world.until('the host tells of it', () => world.host()?.status?.free?.disk === '246Gi');
    assert.equal(world.host()?.status?.driver?.volumes, true);
    change({ size: '20Gi' });
    await world.until('it has grown', () => file() === 'True FileThere 20Gi');
    assert.equal(world.volumes.get(ID), 20 * GIB);
    await world.quiet();
    const writes = world.api.writes.length;
    await world.quiet();
    assert.equal(world.api.writes.length, writes, 'nothing is written while nothing changes');
  });

  it('is not made before it has its id, nor for another Host of this name', async () => {
    const { conditions: _, ...status } = aVolume().status ?? {};
    world.api.put('volumes', { ...aVolume({ namespace: 'demo' }), status } as Volume);
    put({ hostUID: 'another' });
    await world.quiet();
    assert.equal(world.volumes.size, 0);
    assert.equal(file(), undefined);
  });

  it('that cannot be made says why, and is tried again', async () => {
    await world.driver.inject([{ fault: 'DiskFull' }]);
    put();
    await world.until('it says why', () => file()?.startsWith('False NoSpace') === true);
    world.driver.heal();
    await world.until('it is there', () => file() === 'True FileThere 10Gi');
  });

  it('goes with its object, not before, and not while the store is one that was put back', async () => {
    put();
    await world.until('it is there', () => file() === 'True FileThere 10Gi');
    await world.stop();
    world.api.storeUID = 'store-2';
    world.api.delete('volumes', 'demo/data');
    await world.start();
    const distrusts = () => isTrue(world.host() ?? assert.fail('there is no host'), 'StoreRolledBack');
    await world.until('it is noticed', distrusts);
    await world.quiet();
    assert.equal(world.volumes.size, 1, 'a store that was put back may ask for what a later one wanted kept');
    assert.ok(volume() !== undefined);
    await world.nodelet?.acknowledgeStore();
    await world.until('it is gone', () => volume() === undefined);
    assert.equal(world.volumes.size, 0);
  });

  it('stays where the object is gone without a word: nobody said that the data may go', async () => {
    put();
    await world.until('it is there', () => file() === 'True FileThere 10Gi');
    world.api.vanish('volumes', 'demo/data');
    await world.quiet();
    assert.equal(world.volumes.size, 1);
  });

  it('is waited for by a VM that has it, and then is in its guest', async () => {
    await world.aVM('a', uses);
    await world.untilPhase('a', 'Pending', 'VolumeNotFound');
    await world.driver.inject([{ fault: 'DiskFull' }]);
    put();
    await world.untilPhase('a', 'Pending', 'VolumeNotReady');
    world.driver.heal();
    await world.untilReady('a');
    assert.deepEqual(world.guests.get('uid-a')?.spec.volumes, [ID]);
  });

  it('is one guest’s at a time here, whatever the store says', async () => {
    put();
    await world.until('it is there', () => file() === 'True FileThere 10Gi');
    await world.running('a', uses);
    await world.aVM('b', uses);
    await world.untilPhase('b', 'Pending', 'InUse');
    assert.match(
      world.vm('b')?.status?.conditions?.find(({ type }) => type === 'Ready')?.message ?? '',
      /guest demo\/a has/,
    );
    change({ size: '20Gi' });
    await world.until('it cannot grow', () => file() === 'False InUse 10Gi');
    world.api.delete('volumes', 'demo/data');
    await world.quiet();
    assert.equal(world.volumes.size, 1, 'nor go');
    world.api.delete('vms', 'demo/a');
    await world.until('it goes after it', () => volume() === undefined);
  });

  it('of a volume that is lost stays for the scrub, which takes it unforced; one that nobody gave up it does not', async () => {
    put();
    await world.until('it is there', () => file() === 'True FileThere 10Gi');
    const scrub = (requestedAt: string) =>
      world.api.change('hosts', 'mac-1', (host) => ({
        ...host,
        status: { ...(host as Host).status, scrub: { requestedAt, outcome: 'Running' } },
      }));
    const answer = () => world.host()?.status?.scrub?.clearing;
    scrub('2026-01-01T00:00:01Z');
    await world.until('it is answered', () => answer() !== undefined);
    assert.equal(answer()?.result, 'Refused');
    assert.equal(
      answer()?.message,
      `1 volume file (${ID}) that nobody gave up on the host; --force removes what remains`,
    );
    world.api.change('volumes', 'demo/data', (object) => {
      const found = object as Volume;
      return { ...found, status: { ...found.status, phase: 'Lost' } } as Volume;
    });
    await world.quiet();
    assert.equal(world.volumes.size, 1);
    scrub('2026-01-01T00:00:02Z');
    await world.until('it is answered', () => answer()?.result === 'Cleared');
    assert.equal(answer()?.volumesRemoved, 1);
    assert.equal(world.volumes.size, 0);
    await world.until('it is told to be gone', () => file() === 'False FileGone');
  });
});
