import assert from 'node:assert/strict';
import type { Host } from '../../resources/kinds/host.ts';
import { NodeletWorld } from './nodelet-world.ts';

describe('nodelet: guests of other objects', () => {
  let world: NodeletWorld;
  beforeEach(async () => {
    world = await NodeletWorld.make();
  });
  afterEach(() => world[Symbol.asyncDispose]());

  describe('a guest without a VM object', () => {
    it('is reported, keeps its share, and is never removed', async () => {
      await world.running('a');
      world.api.vanish('vms', 'demo/a');
      const host = await world.until(
        'it is reported',
        () => world.host()?.status?.orphans?.length === 1 && world.host(),
      );
      assert.deepEqual(host?.status?.orphans, [{ id: 'uid-a', label: 'demo/a', power: 'Running' }]);
      assert.equal(host?.status?.allocatable?.memory, '13Gi');
      await world.quiet();
      assert.equal(world.guests.get('uid-a')?.power, 'Running');
      await world.stop();
      await world.start();
      await world.quiet();
      assert.equal(world.guests.get('uid-a')?.power, 'Running');
      assert.deepEqual(world.driver.calls, []);
    });

    it('is removed once an operator names it, and only then, and only that one', async () => {
      await world.running('a');
      await world.running('b');
      for (const name of ['a', 'b']) world.api.vanish('vms', `demo/${name}`);
      await world.until('they are orphans', () => world.host()?.status?.orphans?.length === 2);
      removable('uid-a');
      await world.until('it is gone', () => world.host()?.status?.orphans?.length === 1);
      await world.quiet();
      assert.deepEqual([...world.guests.keys()], ['uid-b']);
      assert.equal(world.host()?.status?.allocatable?.memory, '13Gi');
    });

    it('is not removed by its name while a VM has it, nor for a store that was put back', async () => {
      await world.running('a');
      await world.running('b');
      removable('uid-a', 'uid-b');
      await world.quiet();
      assert.equal(world.guests.size, 2);
      await world.stop();
      world.api.vanish('vms', 'demo/b');
      world.api.storeUID = 'store-2';
      await world.start();
      await world.until('b is an orphan', () => world.host()?.status?.orphans?.length === 1);
      await world.quiet();
      assert.equal(world.guests.get('uid-b')?.power, 'Running');
    });

    it('is not removed by its name when a VM has it that this nodelet has not seen yet', async () => {
      await world.running('a');
      const vm = world.vm('a');
      world.api.vanish('vms', 'demo/a');
      await world.until('it is an orphan', () => world.host()?.status?.orphans?.length === 1);
      if (vm !== undefined) world.api.objects.set('vms/demo/a', vm);
      removable('uid-a');
      await world.quiet();
      assert.equal(world.guests.get('uid-a')?.power, 'Running');
    });

    it('keeps its macOS slot', async () => {
      const digest = (await world.aVM('a')).spec.resolved?.digest ?? '';
      await world.running('a', { resolved: { digest, guestOS: 'macos', vcpus: 2, memory: '1Gi' } });
      world.api.vanish('vms', 'demo/a');
      await world.until('it is an orphan', () => world.host()?.status?.orphans?.length === 1);
      assert.deepEqual(world.host()?.status?.macosSlots, { total: 1, used: 0, leaked: 0 });
    });

    function removable(...ids: string[]): void {
      world.api.change('hosts', 'mac-1', (object) => {
        const host = object as Host;
        return { ...host, spec: { ...host.spec, removeOrphans: ids } };
      });
    }

    it('is stopped, not removed, when its VM is bound elsewhere under a newer epoch', async () => {
      await world.running('a');
      world.set('a', { hostName: 'mac-2', epoch: 2 });
      await world.until('it is off', () => world.guests.get('uid-a')?.power === 'Off');
      await world.quiet();
      assert.equal(world.guests.size, 1);
      assert.equal(world.host()?.status?.orphans?.length, 1);
    });

    it('runs on when its VM is bound elsewhere under no newer epoch', async () => {
      await world.running('a');
      world.set('a', { hostName: 'mac-2' });
      await world.quiet();
      assert.equal(world.guests.get('uid-a')?.power, 'Running');
    });
  });

  describe('epochs', () => {
    it('stop a guest of an older binding, then start it as one of this', async () => {
      await world.running('a');
      world.set('a', { epoch: 2 });
      const vm = await world.until(
        'it runs again',
        () => world.vm('a')?.status?.guest?.epoch === 2 && world.isReady('a') && world.vm('a'),
      );
      assert.equal(vm?.status?.guest?.power, 'Running');
      assert.ok(world.driver.calls.includes('stop uid-a'));
    });

    it('never let an older object touch a newer guest', async () => {
      await world.running('a', { epoch: 5 });
      world.set('a', { epoch: 3, power: 'Stopped' });
      await world.untilPhase('a', 'Pending', 'NewerGuest');
      world.api.delete('vms', 'demo/a');
      await world.quiet();
      assert.equal(world.guests.get('uid-a')?.power, 'Running');
    });
  });
});
