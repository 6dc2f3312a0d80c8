import assert from 'node:assert/strict';
import { Pool } from '../../resources/kinds/pool.ts';
import { VM } from '../../resources/kinds/vm.ts';
import { findCondition } from '../../resources/meta/condition.ts';
import { FleetWorld } from '../harness/fleet-world.ts';
import { endsAlike, type Kill, Killer, type Life, type Victim } from '../harness/killer.ts';

const spec = { image: 'linux', size: { vcpus: 1, memory: '1Gi' } };

/** All requests of somebody but events and the watches that stand. */
function requestsOf(isIts: Victim['isSilenced']): Pick<Victim, 'counts' | 'isSilenced'> {
  return {
    isSilenced: isIts,
    counts: (identity, method, path) =>
      isIts(identity, method) && !path.includes('/events') && !path.includes('watch='),
  };
}

const CONTROLLERS: Victim = {
  ...requestsOf((identity, method) => /:(placement|pool)$/.test(identity) && method !== 'GET'),
  end: (world) => world.stopControllers(),
  begin: (world) => world.startControllers(),
};
const NODELET: Victim = {
  ...requestsOf((identity) => identity === 'system:host:mac-1'),
  end: (world) => world.stopNodelet('mac-1'),
  begin: (world) => world.startNodelet('mac-1'),
};

/** A pool of two; a VM takes one of it, is deleted, and the pool is scaled down. */
async function aDay(victim: Victim, kill: Kill | undefined): Promise<Life> {
  await using world = await FleetWorld.start();
  const killer = new Killer(world, victim, kill);
  killer.counting = false;
  await world.mac('mac-1');
  await world.tenant('acme');
  await world.create(Pool, { metadata: { name: 'warm', namespace: 'acme' }, spec: { ...spec, replicas: 2 } });
  const pool = () => world.fleet.find<Pool>(Pool, 'warm', 'acme');
  const ready = () => pool()?.status?.ready;
  await world.until('it is warm', () => ready() === 2);
  killer.counting = true;
  await world.create(VM, { metadata: { name: 'quick', namespace: 'acme' }, spec });
  const quick = () => world.vm('acme/quick');
  const isUp = () => findCondition(quick() ?? assert.fail('it is gone'), 'Ready')?.status === 'True';
  await world.until('it is up', isUp);
  await killer.healed();
  await world.until('the pool is full again', () => ready() === 2 && world.guestsOn('mac-1').size === 3);
  const came = quick()?.status?.startedFrom;
  await world.fleet.resource<VM>(VM, 'acme').delete('quick');
  await world.until('it is gone', () => quick() === undefined);
  await world.request('PATCH', 'namespaces/acme/pools/warm/scale', { spec: { replicas: 1 } });
  await world.until('one is left', () => world.fleet.all<VM>(VM).length === 1 && ready() === 1);
  await killer.healed();
  await world.passes('10m');
  const told = {
    came,
    claimed: pool()?.status?.claimed,
    why: findCondition(pool() ?? assert.fail(), 'Ready')?.reason,
    guests: [...world.guestsOn('mac-1').keys()].length,
    named: world.fleet.all<VM>(VM).every((vm) => world.guestsOn('mac-1').has(vm.spec.guestID ?? '')),
  };
  return { told, counted: killer.counted };
}

describe('a claim, whatever is killed before or after any request, and started again', () => {
  for (const [who, victim, least] of [
    ['the controllers', CONTROLLERS, 8],
    ['the nodelet', NODELET, 8],
  ] as const) {
    it(`ends in the same place without ${who} for a while`, async () => {
      const told = { came: 'pool', claimed: 1, why: 'Warm', guests: 1, named: true };
      await endsAlike((kill) => aDay(victim, kill), { least, told });
    }).timeout(300_000);
  }
});
