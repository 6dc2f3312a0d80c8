import { FleetWorld } from '../harness/fleet-world.ts';
import { controllersAt, endsAlike, type Kill, Killer, type Life } from '../harness/killer.ts';
import { SetOfLeases } from '../harness/set-of-leases.ts';

/** A set that grows to three with one that waits, shrinks to one, and after the minimum grows to two. */
async function twoDays(kill?: Kill): Promise<Life> {
  await using world = await FleetWorld.start({ duties: false });
  const killer = new Killer(world, controllersAt('leaseset'), kill);
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
  await killer.healed();
  await world.passes('10m');
  look();
  return { told, counted: killer.counted };
}

describe('a leaseset duty that is killed before or after any write, and started again', () => {
  it('ends in the same place, and makes nothing twice', async () => {
    await endsAlike(twoDays, {
      least: 10,
      told: [
        '3/4 (AlreadyLeased): 3 Active, 1 Pending',
        '3/1 +2 (Active): 3 Active',
        '1/1 (Active): 1 Active, 2 Ended',
        '1/2 (ScrubPending): 1 Active, 2 Ended, 1 Pending',
      ],
    });
  }).timeout(600_000);
});
