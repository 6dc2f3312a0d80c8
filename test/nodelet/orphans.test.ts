import assert from 'node:assert/strict';
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
