import assert from 'node:assert/strict';
import { NodeletWorld } from './nodelet-world.ts';

describe('nodelet: a deletion', () => {
  let world: NodeletWorld;
  beforeEach(async () => {
    world = await NodeletWorld.make();
  });
  afterEach(() => world[Symbol.asyncDispose]());

  it('removes the guest, says it is gone, then lets the object go', async () => {
    await world.running('a');
    const before = world.api.writes.length;
    world.api.delete('vms', 'demo/a');
    await world.until('it is gone', () => world.vm('a') === undefined);
    assert.equal(world.guests.size, 0);
    assert.deepEqual(
      world.api.writes
        .slice(before)
        .filter((write) => write.includes('vms'))
        .slice(-2),
      ['PATCH vms/a/status', 'PATCH vms/a'],
    );
  });

  it('with another finalizer leaves a VM whose guest is Gone', async () => {
    await world.running('a');
    world.api.change('vms', 'demo/a', (vm) => ({
      ...vm,
      metadata: { ...vm.metadata, finalizers: [...(vm.metadata.finalizers ?? []), 'example.com/mine'] },
    }));
    world.api.delete('vms', 'demo/a');
    await world.until('only theirs is left', () => world.vm('a')?.metadata.finalizers?.join() === 'example.com/mine');
    assert.equal(world.vm('a')?.status?.guest?.power, 'Gone');
    await world.quiet();
    assert.equal(world.guests.size, 0);
  });

  it('while the guest is being stopped or started ends the same', async () => {
    await world.aVM('a');
    await world.aVM('b');
    await world.start();
    await world.driver.inject([{ fault: 'SlowOperation', operation: 'Stop', takes: '50s' }]);
    await world.untilReady('a');
    world.set('a', { power: 'Stopped' });
    await world.untilPhase('a', 'Stopping');
    world.api.delete('vms', 'demo/a');
    await world.driver.inject([{ fault: 'SlowOperation', takes: '50s' }]);
    await world.aVM('c');
    await world.until('c is starting', () => world.vm('c')?.status?.guest?.power === 'Starting');
    world.api.delete('vms', 'demo/c');
    const began = world.clock.now();
    await world.until('both are gone', () => world.vm('a') === undefined && world.vm('c') === undefined);
    assert.ok(world.clock.now() - began < 40_000, 'it waited for an operation nobody wants any more');
    assert.deepEqual([...world.guests.keys()], ['uid-b']);
  });

  it('while the guest is being made leaves nothing of it, though the driver ends making it later', async () => {
    await world.running('b');
    const { promise, resolve } = Promise.withResolvers<void>();
    world.driver.createGate = promise;
    await world.aVM('a');
    await world.until('it is being made', () => world.driver.calls.includes('create uid-a'));
    world.api.delete('vms', 'demo/a');
    await world.untilPhase('a', 'Destroying');
    await world.quiet();
    assert.ok(world.vm('a'), 'the object went before its guest was made');
    resolve();
    await world.until('it is gone', () => world.vm('a') === undefined);
    await world.quiet();
    assert.deepEqual([...world.guests.keys()], ['uid-b']);
  });

  it('of a VM whose guest could not be made lets it go', async () => {
    await world.running('b');
    await world.driver.inject([{ fault: 'FailedOperation', operation: 'Create', times: 99 }]);
    await world.aVM('a');
    await world.until('it was tried', () => world.driver.calls.includes('create uid-a'));
    world.api.delete('vms', 'demo/a');
    await world.until('it is gone', () => world.vm('a') === undefined);
  });

  it('of a VM that never had a guest lets it go', async () => {
    await world.aVM('a', { power: 'Stopped' });
    await world.start();
    await world.untilPhase('a', 'Stopped');
    world.api.delete('vms', 'demo/a');
    await world.until('it is gone', () => world.vm('a') === undefined);
  });

  it('of one VM spares the guest another VM names', async () => {
    await world.running('member');
    await world.aVM('claimer', { guestID: 'uid-member' });
    world.api.delete('vms', 'demo/member');
    await world.until('the member is gone', () => world.vm('member') === undefined);
    await world.untilReady('claimer');
    assert.equal(world.guests.get('uid-member')?.power, 'Running');
    assert.ok(!world.driver.calls.includes('remove uid-member'));
  });
});
