import assert from 'node:assert/strict';
import { FleetWorld } from '../harness/fleet-world.ts';
import { controllersAt, endsAlike, type Kill, Killer, type Life } from '../harness/killer.ts';

/** Two leases: one is forced to end while a VM runs, one is deleted early and let go at its minimum. */
async function aDay(kill?: Kill): Promise<Life> {
  await using world = await FleetWorld.start({ duties: false });
  const killer = new Killer(world, controllersAt('lease'), kill);
  world.startControllers();
  await world.tenant('acme');
  await world.mac('mac-1');
  await world.mac('mac-2');
  await world.asks({ hostName: 'mac-1' }, 'acme/forced');
  await world.asks({ hostName: 'mac-2', releasePolicy: 'WhenAllowed' }, 'acme/left');
  const active = (key: string) => world.tells(key).startsWith('Active');
  await world.until('both have a host', () => active('acme/forced') && active('acme/left'));
  await world.runs('acme/a', { image: 'linux' });
  await world.runs('acme/b', { image: 'linux' });
  const until = world.lease('acme/left')?.status?.earliestEnd;
  assert.equal((await world.patches('acme/forced', { spec: { release: { force: true } } })).status, 200);
  assert.equal((await world.deletes('acme/left')).status, 200);
  await world.until('the first has ended', () => world.tells('acme/forced').startsWith('Ended'));
  await world.isNow(until);
  await world.until('the second is let go', () => world.hostTells('mac-2') === 'waits for a scrub');
  await killer.healed();
  await world.passes('10m');
  const { phase, billedUntil, earliestEnd, overrides = [] } = world.lease('acme/forced')?.status ?? {};
  const told = {
    leases: [world.tells('acme/forced'), world.tells('acme/left')],
    hosts: [world.hostTells('mac-1'), world.hostTells('mac-2')],
    guests: [world.guestsOn('mac-1').size, world.guestsOn('mac-2').size],
    record: [phase, billedUntil === earliestEnd, overrides.map(({ what }) => what)],
  };
  return { told, counted: killer.counted };
}

describe('a lease duty that is killed before or after any write, and started again', () => {
  it('ends in the same place', async () => {
    await endsAlike(aDay, {
      least: 8,
      told: {
        leases: ['Ended on mac-1 (Ended)', 'gone'],
        hosts: ['waits for a scrub', 'waits for a scrub'],
        guests: [0, 0],
        record: ['Ended', true, ['ForTenant', 'ForcedRelease']],
      },
    });
  }).timeout(300_000);
});
