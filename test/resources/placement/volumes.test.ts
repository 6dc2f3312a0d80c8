import assert from 'node:assert/strict';
import { hostRoom } from '../../../resources/guards/host-guard.ts';
import { HOSTS, IMAGES, TENANTS, VMS, VOLUMES } from '../../../resources/guards/refs.ts';
import { World } from '../../../resources/guards/world.ts';
import type { Host } from '../../../resources/kinds/host.ts';
import type { VM } from '../../../resources/kinds/vm.ts';
import type { Volume } from '../../../resources/kinds/volume.ts';
import { objectKey } from '../../../resources/meta/object.ts';
import { decide, likeness } from '../../../resources/placement/decide.ts';
import { replay } from '../../../resources/placement/replay.ts';
import { aHostWithDisk, aVolume } from '../../builders/volume.ts';
import { anImage, aTenant, aVM, DIGEST } from '../../harness/builders.ts';

const HOSTS_HERE = [aHostWithDisk(), aHostWithDisk({ name: 'mac-2' }), aHostWithDisk({ name: 'mac-3' })];

function aWorld(volumes: readonly Volume[], hosts: readonly Host[] = HOSTS_HERE, vms: readonly VM[] = []): World {
  const world = new World();
  world.set(TENANTS, 'red', aTenant(), 1);
  world.set(IMAGES, 'tiny', anImage(), 1);
  for (const host of hosts) world.set(HOSTS, host.metadata.name, host, 1);
  for (const vm of vms) world.set(VMS, objectKey(vm.metadata), vm, 1);
  for (const volume of volumes) world.set(VOLUMES, objectKey(volume.metadata), volume, 1);
  return world;
}

const vm = (spec: Partial<VM['spec']> = {}) => aVM({ spec: { volumes: [{ name: 'data' }], ...spec } });

function decided(volumes: readonly Volume[], hosts = HOSTS_HERE, wish = vm()): string {
  const decision = decide(wish, aWorld(volumes, hosts), hosts);
  return decision.kind === 'bind' ? `bind ${decision.host}` : `${decision.reason}: ${decision.message}`;
}

describe('the placement of a VM that has volumes', () => {
  it('is where they lie, however much fuller another host is', () => {
    assert.equal(decided([aVolume({ host: 'mac-2' })]), 'bind mac-2');
    assert.equal(decided([aVolume({ host: 'mac-3' })]), 'bind mac-3');
    const full = [aHostWithDisk(), aHostWithDisk({ name: 'mac-2', memory: '2Gi' })];
    assert.equal(
      decided([aVolume({ host: 'mac-2' })], full),
      'InsufficientMemory: 0 of 2 hosts fit: 1 InsufficientMemory (largest free 2Gi, needs 4Gi), 1 VolumeElsewhere',
    );
  });

  it('waits for one that is not there, has no host, is not whole, is on its way out or is lost', () => {
    assert.equal(decided([]), 'VolumeNotFound: no Volume is named data in red; the VM waits for it');
    const why = (volume: Volume) => decided([volume]).replace(/^VolumeNotReady: volume data /, '');
    assert.equal(why(aVolume({ host: undefined })), 'has no host yet');
    const { conditions: _, ...status } = aVolume().status ?? {};
    assert.equal(
      decided([{ ...aVolume(), status }]),
      'VolumeNotReady: the file of volume data is being made on host mac-1',
    );
    assert.equal(why(aVolume({ size: '60Gi', status: { size: '50Gi' } })), 'grows from 50Gi to 60Gi');
    const going = aVolume();
    const deletionTimestamp = '2026-03-01T00:00:00Z';
    assert.equal(why({ ...going, metadata: { ...going.metadata, deletionTimestamp } }), 'is being deleted');
    assert.equal(
      why(aVolume({ status: { phase: 'Lost', lostAt: 'then', lostBy: 'x' } })),
      'is lost: its data went at then (x)',
    );
    assert.equal(
      decided([aVolume({ status: { hostUID: 'another' } })]),
      'VolumeNotReady: host mac-1 of volume data is gone',
    );
  });

  it('waits while one is stranded: by what is so of the host, whatever its phase says yet', () => {
    const leased = [aHostWithDisk({ lessee: 'blue' }), aHostWithDisk({ name: 'mac-2' })];
    assert.equal(
      decided([aVolume()], leased),
      'VolumeNotReady: volume data is stranded on host mac-1, which red does not lease',
    );
    assert.equal(decided([aVolume()], [aHostWithDisk({ lessee: 'red' })]), 'bind mac-1');
  });

  it('is nowhere where the driver attaches none, and for no guest but of Linux', () => {
    const none = [aHostWithDisk({ volumes: false }), aHostWithDisk({ name: 'mac-2' })];
    assert.equal(
      decided([aVolume()], none),
      'VolumesUnsupported: 0 of 2 hosts fit: 1 VolumesUnsupported, 1 VolumeElsewhere',
    );
    const mac = vm({ resolved: { digest: DIGEST, guestOS: 'macos', vcpus: 1, memory: '1Gi' } });
    assert.match(
      decided([aVolume()], [aHostWithDisk({ lessee: 'red' })], mac),
      /^VolumesUnsupported: 0 of 1 hosts fit/,
    );
  });

  it('is told host by host, and is not taken for that of a VM that has others', () => {
    const { hosts } = replay(vm(), aWorld([aVolume({ host: 'mac-2' })]), HOSTS_HERE);
    assert.deepEqual(
      hosts.map(({ host, refusal }) => `${host} ${refusal?.message ?? 'fits'}`),
      [
        'mac-1 volume data lies on host mac-2, not on mac-1',
        'mac-2 fits',
        'mac-3 volume data lies on host mac-2, not on mac-3',
      ],
    );
    assert.notEqual(likeness(vm()), likeness(vm({ volumes: [{ name: 'other' }] })));
    assert.equal(likeness(vm()), likeness(vm()));
  });

  it('does not start it again once what it has is lost', () => {
    const off = vm({ hostName: 'mac-1', epoch: 1, power: 'Stopped' });
    const on = vm({ hostName: 'mac-1', epoch: 1, power: 'Running' });
    const judged = (volume: Volume) =>
      hostRoom.judge({ before: off, after: on }, aWorld([volume], HOSTS_HERE, [off]), NOBODY);
    assert.equal(judged(aVolume()), undefined);
    assert.equal(judged(aVolume({ status: { phase: 'Lost' } }))?.cause, 'VolumeNotReady');
  });
});

const NOBODY = { nowMs: 0, asker: { user: 'x', operator: false } };
