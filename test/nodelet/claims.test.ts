import assert from 'node:assert/strict';
import { rfc3339 } from '../../resources/ambient/clock.ts';
import type { VM } from '../../resources/kinds/vm.ts';
import { NodeletWorld } from './nodelet-world.ts';

/** What a claim does, as the server tells of it: in either order, and in the order of a server that lets the member go by its finalizer. */
const ORDERS: Readonly<Record<string, readonly ((world: NodeletWorld) => unknown)[]>> = {
  'the taker first': [take, (world) => world.api.vanish('vms', 'demo/member')],
  'the end of the member first': [(world) => world.api.vanish('vms', 'demo/member'), take],
  'a member that goes by its finalizer': [take, (world) => world.api.delete('vms', 'demo/member')],
};

async function take(world: NodeletWorld): Promise<void> {
  const at = rfc3339(world.clock.now());
  await world.aVM('taker', { guestID: 'uid-member', fromPool: { name: 'warm', namespace: 'demo', at } });
}

describe('nodelet: a claim', () => {
  let world: NodeletWorld;
  beforeEach(async () => {
    world = await NodeletWorld.make();
    await world.running('member', { claimable: true });
  });
  afterEach(() => world[Symbol.asyncDispose]());

  for (const [order, steps] of Object.entries(ORDERS)) {
    it(`leaves the guest as it is, seen in the order of ${order}`, async () => {
      const calls = world.driver.calls.length;
      for (const step of steps) {
        await step(world);
        await world.pass(500);
      }
      await takenOver(world);
      assert.deepEqual(world.driver.calls.slice(calls), []);
    });

    for (const stop of steps.keys()) {
      it(`comes to the same with a nodelet that was away around step ${stop + 1} of ${order}`, async () => {
        for (const [i, step] of steps.entries()) {
          if (i === stop) await world.stop();
          await step(world);
          if (i === stop) await world.start();
          await world.pass(500);
        }
        await takenOver(world);
        assert.deepEqual(world.driver.calls, [], 'a driver that was started anew does nothing to the guest');
      });
    }
  }

  it('ends with the taker: deleted, it takes the guest with it', async () => {
    await take(world);
    world.api.vanish('vms', 'demo/member');
    await world.untilReady('taker');
    world.api.delete('vms', 'demo/taker');
    await world.until('it is gone', () => world.vm('taker') === undefined);
    assert.equal(world.guests.size, 0);
  });

  it('is not one without a taker: a member that is deleted takes its guest with it', async () => {
    world.api.delete('vms', 'demo/member');
    await world.until('it is gone', () => world.vm('member') === undefined);
    assert.equal(world.guests.size, 0);
  });

  it('of a guest that is started again is over: it came up cold then', async () => {
    await take(world);
    world.api.vanish('vms', 'demo/member');
    await world.untilReady('taker');
    world.set('taker', { power: 'Stopped' });
    await world.untilPhase('taker', 'Stopped');
    assert.equal(world.vm('taker')?.status?.startedFrom, 'pool');
    world.set('taker', { power: 'Running' });
    const { status } = await world.untilReady('taker');
    assert.equal(status?.startedFrom, 'cold');
  });

  it('of a guest that was lost just then makes another, which is cold', async () => {
    await world.stop();
    await take(world);
    world.api.vanish('vms', 'demo/member');
    world.guests.clear();
    await world.start();
    const { status } = await world.untilReady('taker');
    assert.deepEqual([status?.startedFrom, status?.guest?.id], ['cold', 'uid-member']);
  });
});

/** The guest that runs is the taker's, and it came up for it when it was taken. */
async function takenOver(world: NodeletWorld): Promise<VM> {
  const taker = await world.untilReady('taker');
  await world.until('the member is gone', () => world.vm('member') === undefined);
  await world.quiet();
  assert.deepEqual([...world.guests.keys()], ['uid-member']);
  const { startedFrom, startedAt, guest } = taker.status ?? {};
  assert.deepEqual([startedFrom, startedAt, guest?.power], ['pool', taker.spec.fromPool?.at, 'Running']);
  return taker;
}
