import assert from 'node:assert/strict';
import { NodeletWorld } from './nodelet-world.ts';

describe('nodelet: a restart', () => {
  let world: NodeletWorld;
  beforeEach(async () => {
    world = await NodeletWorld.make();
  });
  afterEach(() => world[Symbol.asyncDispose]());

  it('adopts what runs: nothing is made, started or stopped', async () => {
    await world.running('a');
    await world.stop();
    assert.equal(world.guests.get('uid-a')?.power, 'Running');
    const before = world.api.writes.length;
    await world.start();
    await world.quiet();
    assert.deepEqual(world.driver.calls, []);
    assert.deepEqual(world.api.writes.slice(before), []);
    assert.ok(world.isReady('a'));
  });

  it('decides nothing before it knows what is wanted', async () => {
    await world.running('a');
    await world.stop();
    const gate = Promise.withResolvers<void>();
    world.api.vmListGate = gate.promise;
    const before = world.api.writes.length;
    await world.start();
    await world.quiet();
    assert.deepEqual(world.api.writes.slice(before), []);
    gate.resolve();
    world.set('a', { power: 'Stopped' });
    await world.untilPhase('a', 'Stopped');
    assert.deepEqual(world.host()?.status?.orphans, []);
  });

  it('tells of no fewer images while it still looks for them', async () => {
    await world.running('a');
    await world.until('it is told of', () => world.host()?.status?.images?.length === 1);
    await world.stop();
    const gate = Promise.withResolvers<void>();
    await world.start(gate.promise);
    world.api.change('hosts', 'mac-1', (host) => ({ ...host, spec: { group: 'default', cordoned: true } }));
    await world.until('it is told of again', () => world.host()?.status?.observedGeneration === 2);
    assert.equal(world.host()?.status?.images?.length, 1);
    gate.resolve();
    await world.quiet();
    assert.equal(world.host()?.status?.images?.length, 1);
  });

  it('ends a start that was cut off, and tells what the guest is meanwhile', async () => {
    await world.running('a');
    await world.stop();
    world.halfDone.set('uid-a', 'Starting');
    await world.start();
    await world.until('its start is ended', () => world.driver.calls.includes('start uid-a'));
    await world.untilReady('a');
    assert.deepEqual(world.driver.calls, ['start uid-a']);
  });

  for (const power of ['Running', 'Stopped', 'Paused'] as const) {
    it(`ends a stop that was cut off, then does what is wanted: ${power}`, async () => {
      await world.running('a');
      await world.stop();
      world.halfDone.set('uid-a', 'Stopping');
      world.set('a', { power });
      await world.start();
      await (power === 'Running' ? world.until('it starts', () => world.driver.calls.length === 2) : undefined);
      await (power === 'Running' ? world.untilReady('a') : world.untilPhase('a', 'Stopped'));
      assert.deepEqual(world.driver.calls, power === 'Running' ? ['stop uid-a', 'start uid-a'] : ['stop uid-a']);
    });
  }

  it('does what was asked meanwhile', async () => {
    await world.running('a');
    await world.running('b');
    await world.stop();
    world.api.delete('vms', 'demo/a');
    world.set('b', { power: 'Stopped' });
    await world.start();
    await world.until('a is gone', () => world.vm('a') === undefined);
    await world.untilPhase('b', 'Stopped', 'Stopped');
    assert.deepEqual([...world.guests.keys()], ['uid-b']);
  });
});
