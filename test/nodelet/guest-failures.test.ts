import assert from 'node:assert/strict';
import { findCondition } from '../../resources/meta/condition.ts';
import { NodeletWorld } from './nodelet-world.ts';

describe('nodelet: a guest that fails', () => {
  let world: NodeletWorld;
  beforeEach(async () => {
    world = await NodeletWorld.make();
  });
  afterEach(() => world[Symbol.asyncDispose]());

  it('by crashing leaves its VM Interrupted, until the user stops and starts it', async () => {
    await world.running('a');
    await world.crash('a');
    const vm = await world.untilPhase('a', 'Interrupted', 'GuestCrashed');
    assert.match(findCondition(vm, 'Ready')?.message ?? '', /set power to Stopped, then to Running/);
    await world.quiet();
    assert.equal(world.guests.get('uid-a')?.power, 'Off');
    world.set('a', { power: 'Stopped' });
    await world.untilPhase('a', 'Stopped', 'Stopped');
    await world.until('it is recorded', () => world.guests.get('uid-a')?.stopReason === 'Requested');
    world.set('a', { power: 'Running' });
    await world.untilReady('a');
  });

  it('by crashing stays Interrupted over a restart of the nodelet', async () => {
    await world.running('a');
    await world.crash('a');
    await world.untilPhase('a', 'Interrupted');
    await world.stop();
    await world.start();
    await world.quiet();
    assert.equal(world.vm('a')?.status?.phase, 'Interrupted');
    assert.deepEqual(world.driver.calls, []);
  });

  it('by shutting itself down stays off', async () => {
    await world.running('a');
    const signal = new AbortController().signal;
    await world.driver.exec('uid-a', { command: ['poweroff'], stdin: false }, signal);
    await world.untilPhase('a', 'Stopped', 'GuestShutdown');
    await world.quiet();
    assert.equal(world.guests.get('uid-a')?.power, 'Off');
  });

  it('to start is tried again, and then called Failed with the words of the driver', async () => {
    await world.aVM('a');
    await world.start();
    await world.driver.inject([{ fault: 'FailedOperation', times: 99 }]);
    const vm = await world.untilPhase('a', 'Failed', 'StartFailed');
    assert.match(findCondition(vm, 'Ready')?.message ?? '', /told to fail this start; tried 5 times/);
    const tries = world.driver.calls.length;
    await world.quiet();
    assert.equal(world.driver.calls.length, tries);
    assert.equal(world.driver.calls.filter((call) => call === 'start uid-a').length, 5);
  });

  it('to start a few times is Ready in the end', async () => {
    await world.aVM('a');
    await world.start();
    await world.driver.inject([{ fault: 'FailedOperation', times: 3 }]);
    await world.untilReady('a');
  });

  it('by vanishing is not made again under the same name', async () => {
    await world.running('a');
    await world.driver.inject([{ fault: 'LostGuest', vms: ['demo/a'] }]);
    const vm = await world.untilPhase('a', 'Failed', 'GuestLost');
    assert.equal(vm.status?.guest?.power, 'Gone');
    await world.quiet();
    assert.equal(world.guests.size, 0);
  });
});
