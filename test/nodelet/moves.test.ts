import assert from 'node:assert/strict';
import { rfc3339 } from '../../resources/ambient/clock.ts';
import type { VM } from '../../resources/kinds/vm.ts';
import { NodeletWorld } from './nodelet-world.ts';

const standsInFor = { name: 'web', uid: 'uid-web' };

type Step = (world: NodeletWorld) => unknown;

/** On the host that `web` leaves: it is another's, and what stood in for it has its guest and goes. */
const leaves: Step = (world) => world.set('web', { hostName: 'mac-2', guestID: 'uid-web-move-1', epoch: 2 });
const goes: Step = async (world) => {
  const vm = await world.aVM('web-move-1', { guestID: 'uid-web', epoch: 1, standsInFor, hostName: 'mac-2' });
  const metadata = { ...vm.metadata, deletionTimestamp: rfc3339(world.clock.now()) };
  world.api.put('vms', { ...vm, metadata, spec: { ...vm.spec, hostName: 'mac-1' } });
};

const bothWays = (...steps: readonly [Step, Step]) => [steps, steps.toReversed()] as const;

describe('nodelet: a VM that is moved', () => {
  let world: NodeletWorld;
  beforeEach(async () => {
    world = await NodeletWorld.make();
  });
  afterEach(() => world[Symbol.asyncDispose]());

  for (const [n, steps] of bothWays(leaves, goes).entries()) {
    it(`away from here has its old guest removed with what stood in for it, seen in order ${n + 1}`, async () => {
      await world.running('web');
      for (const step of steps) {
        await step(world);
        await world.pass(500);
      }
      await world.until('nothing is left of it', () => world.guests.size === 0 && world.vm('web-move-1') === undefined);
      assert.deepEqual(world.vm('web')?.metadata.deletionTimestamp, undefined);
    });
  }

  it('away from here by a nodelet that was not there leaves the same', async () => {
    await world.running('web');
    await world.stop();
    for (const step of [leaves, goes]) await step(world);
    await world.start();
    await world.until('nothing is left of it', () => world.guests.size === 0 && world.vm('web-move-1') === undefined);
  });

  it('away from here keeps its guest where nobody is there to end it: it is an orphan', async () => {
    await world.running('web');
    leaves(world);
    await world.until('it is told', () => world.host()?.status?.orphans?.some(({ id }) => id === 'uid-web') === true);
    await world.quiet();
    assert.equal(world.guests.get('uid-web')?.power, 'Running');
  });

  it('away from here keeps its guest while the store is one that was put back', async () => {
    await world.running('web');
    await world.stop();
    world.api.revision = 50;
    for (const step of [leaves, goes]) await step(world);
    await world.start();
    await world.until('it says why', () => world.reason('web-move-1') === 'StoreRolledBack');
    await world.quiet();
    assert.equal(world.guests.get('uid-web')?.power, 'Running');
    await world.nodelet?.acknowledgeStore();
    await world.until('it goes then', () => world.guests.size === 0);
  });

  const comes: Step = (w) => w.aVM('web', { guestID: 'uid-web-move-1', epoch: 2 });
  const hands: Step = (w) => w.set('web-move-1', { hostName: 'mac-2', guestID: 'uid-web', epoch: 1 });
  for (const [n, steps] of bothWays(comes, hands).entries()) {
    it(`to here goes on with the guest that was made for it, called like it, seen in order ${n + 1}`, async () => {
      await world.running('web-move-1', { epoch: 2, standsInFor });
      assert.equal(world.guests.get('uid-web-move-1')?.spec.label, 'demo/web');
      assert.equal(world.guests.get('uid-web-move-1')?.spec.hostname, 'web');
      const calls = world.driver.calls.length;
      for (const step of steps) {
        await step(world);
        await world.pass(500);
      }
      const { status }: VM = await world.untilReady('web');
      assert.deepEqual([status?.guest, status?.host], [{ id: 'uid-web-move-1', power: 'Running', epoch: 2 }, 'mac-1']);
      await world.quiet();
      assert.deepEqual(world.driver.calls.slice(calls), []);
      assert.equal(world.host()?.status?.orphans?.length, 0);
    });
  }
});
