import assert from 'node:assert/strict';
import { FleetWorld } from '../harness/fleet-world.ts';
import { SetOfLeases } from '../harness/set-of-leases.ts';

interface Kill {
  readonly at: number;
  readonly when: 'before' | 'after';
}

/** A set that grows to three with one that waits, shrinks to one, and after the minimum grows to two. */
async function twoDays(kill: Kill | undefined): Promise<{ readonly told: unknown; readonly writes: number }> {
  await using world = await FleetWorld.start({ duties: false });
  let [writes, dead] = [0, false];
  let restart: Promise<void> | undefined;
  const die = () => {
    dead = true;
    restart = world.stopControllers().then(() => {
      dead = false;
      world.startControllers();
    });
    throw new Error('killed');
  };
  const counts = (identity: string, method: string, path: string) =>
    identity === 'system:controller:leaseset' && method !== 'GET' && !path.includes('/events');
  world.fleet.onRequest = (identity, { method, path }) => {
    if (dead) throw new Error('dead');
    if (!counts(identity, method, path)) return;
    const now = writes++;
    if (kill?.when === 'before' && kill.at === now && restart === undefined) die();
  };
  world.fleet.onAnswer = (identity, { method, path }) => {
    if (kill?.when === 'after' && counts(identity, method, path) && writes > kill.at && restart === undefined) die();
  };
  world.startControllers();
  await world.tenant('acme');
  for (let i = 1; i <= 3; i++) await world.mac(`mac-${i}`);
  const set = new SetOfLeases(world);
  const told: string[] = [];
  const look = () => told.push(`${set.tells}: ${set.phases}`);
  await set.asks({ replicas: 4 });
  await set.until('3/4 (AlreadyLeased)');
  look();
  await set.scales(1);
  await set.until('3/1 +2 (Active)');
  look();
  await world.passes('25h');
  await set.until('1/1 (Active)');
  look();
  await set.scales(2);
  await world.until('one more waits, for nobody scrubs', () => set.status.pending === 1);
  await restart;
  await world.passes('10m');
  look();
  return { told, writes };
}

describe('a leaseset duty that is killed before or after any write, and started again', () => {
  it('ends in the same place, and makes nothing twice', async () => {
    const calm = await twoDays(undefined);
    assert.ok(calm.writes >= 10, `${calm.writes} writes`);
    assert.deepEqual(calm.told, [
      '3/4 (AlreadyLeased): 3 Active, 1 Pending',
      '3/1 +2 (Active): 3 Active',
      '1/1 (Active): 1 Active, 2 Ended',
      '1/2 (ScrubPending): 1 Active, 2 Ended, 1 Pending',
    ]);
    for (let at = 0; at < calm.writes; at++) {
      for (const when of ['before', 'after'] as const) {
        assert.deepEqual((await twoDays({ at, when })).told, calm.told, `killed ${when} write ${at} of ${calm.writes}`);
      }
    }
  }).timeout(600_000);
});
