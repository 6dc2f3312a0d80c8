import assert from 'node:assert/strict';
import type { Host } from '../../resources/kinds/host.ts';
import { findCondition } from '../../resources/meta/condition.ts';
import { NodeletWorld } from './nodelet-world.ts';

describe('nodelet: a store that was put back', () => {
  let world: NodeletWorld;
  beforeEach(async () => {
    world = await NodeletWorld.make();
  });
  afterEach(() => world[Symbol.asyncDispose]());

  const distrust = () => {
    const host = world.host();
    return host && findCondition(host, 'StoreRolledBack');
  };

  const acknowledge = (trustedStore: string) =>
    world.api.change('hosts', 'mac-1', (host) => ({ ...host, spec: { ...(host as Host).spec, trustedStore } }));

  for (const [what, put] of [
    ['to an earlier revision', () => (world.api.revision = 50)],
    ['as another one', () => (world.api.storeUID = 'store-2')],
  ] as const) {
    it(`${what} has nothing stopped or removed until it is acknowledged`, async () => {
      await world.running('a');
      await world.running('b');
      await world.stop();
      put();
      world.api.delete('vms', 'demo/a');
      world.set('b', { power: 'Stopped' });
      await world.start();
      await world.until('it is noticed', () => distrust()?.status === 'True');
      await world.until('b says why', () => world.reason('b') === 'StoreRolledBack');
      await world.quiet();
      assert.equal(world.guests.get('uid-a')?.power, 'Running');
      assert.equal(world.guests.get('uid-b')?.power, 'Running');
      assert.equal(world.vm('b')?.status?.phase, 'Running');

      await world.nodelet?.acknowledgeStore();
      await world.until('a is gone', () => world.vm('a') === undefined);
      await world.untilPhase('b', 'Stopped', 'Stopped');
      await world.until('it is trusted', () => distrust()?.status === 'False');
    });
  }

  it('under a nodelet that runs has it look at all of it anew: what is back is told of, and what is gone is an orphan', async () => {
    await world.running('a');
    const before = world.vm('a');
    assert.ok(before !== undefined);
    world.api.delete('vms', 'demo/a');
    await world.until('a is gone', () => world.vm('a') === undefined && !world.guests.has('uid-a'));
    await world.running('b');
    // No watch tells of this: it goes on in the other history.
    world.api.objects.set('vms/demo/a', before);
    world.api.objects.delete('vms/demo/b');
    world.api.revision -= 10;
    await world.until('it is noticed', () => distrust()?.status === 'True');
    await world.untilPhase('a', 'Failed', 'GuestLost');
    await world.until('b is an orphan', () => world.host()?.status?.orphans?.some(({ id }) => id === 'uid-b') ?? false);
    assert.equal(world.guests.get('uid-b')?.power, 'Running');
  });

  it('has nothing stopped or removed until an operator says so on the Host, and is noticed anew when it is put back again', async () => {
    await world.running('a');
    await world.running('b');
    await world.stop();
    world.api.storeUID = 'store-2';
    world.api.delete('vms', 'demo/a');
    await world.start();
    await world.until('it is noticed', () => distrust()?.status === 'True');
    const token = world.host()?.status?.distrustedStore;
    assert.match(token ?? '', /^store-2@\d+$/);
    assert.match(distrust()?.message ?? '', /until an operator trusts it: coppice host trust-store mac-1$/);
    acknowledge('store-2');
    await world.quiet();
    assert.equal(world.guests.get('uid-a')?.power, 'Running');

    acknowledge(token ?? '');
    await world.until('a is gone', () => world.vm('a') === undefined);
    await world.until('it is trusted', () => distrust()?.status === 'False');
    assert.equal(world.host()?.status?.distrustedStore, undefined);

    await world.stop();
    world.api.storeUID = 'store-3';
    world.api.delete('vms', 'demo/b');
    await world.start();
    await world.until('it is noticed again', () => distrust()?.status === 'True');
    await world.quiet();
    assert.equal(world.guests.get('uid-b')?.power, 'Running');
  });

  it('is noticed though nothing was ever stopped or removed, from one revision back', async () => {
    await world.running('a');
    await world.stop();
    world.api.revision -= 1;
    world.api.delete('vms', 'demo/a');
    world.api.revision -= 1;
    await world.start();
    await world.until('it is noticed', () => distrust()?.status === 'True');
    assert.equal(world.guests.get('uid-a')?.power, 'Running');
  });

  it('still has guests made and started', async () => {
    await world.running('a');
    await world.stop();
    world.api.storeUID = 'store-2';
    await world.aVM('b');
    await world.start();
    await world.untilReady('b');
    await world.until('it is noticed', () => distrust()?.status === 'True');
  });

  it('is not written about again and again', async () => {
    await world.running('a');
    await world.stop();
    world.api.revision = 50;
    await world.start();
    await world.until('it is noticed', () => distrust()?.status === 'True');
    await world.quiet();
    const before = world.api.writes.length;
    await world.quiet();
    assert.deepEqual(world.api.writes.slice(before), []);
  });
});
