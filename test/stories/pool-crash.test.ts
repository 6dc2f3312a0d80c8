import assert from 'node:assert/strict';
import { Pool } from '../../resources/kinds/pool.ts';
import { VM } from '../../resources/kinds/vm.ts';
import { findCondition } from '../../resources/meta/condition.ts';
import { FleetWorld } from '../harness/fleet-world.ts';

interface Kill {
  readonly at: number;
  readonly when: 'before' | 'after';
}

const spec = { image: 'linux', size: { vcpus: 1, memory: '1Gi' } };

/** Whose requests are counted, and what ends at one of them and begins again. */
interface Victim {
  readonly counts: (identity: string, method: string) => boolean;
  readonly end: (world: FleetWorld) => Promise<void>;
  readonly begin: (world: FleetWorld) => void;
}

const CONTROLLERS: Victim = {
  counts: (identity, method) => /:(placement|pool)$/.test(identity) && method !== 'GET',
  end: (world) => world.stopControllers(),
  begin: (world) => world.startControllers(),
};
const NODELET: Victim = {
  counts: (identity) => identity === 'system:host:mac-1',
  end: (world) => world.stopNodelet('mac-1'),
  begin: (world) => world.startNodelet('mac-1'),
};

/** A pool of two; a VM takes one of it, is deleted, and the pool is scaled down. */
async function aDay(victim: Victim, kill: Kill | undefined) {
  await using world = await FleetWorld.start();
  let [writes, counting, dead] = [0, false, false];
  let restart: Promise<void> | undefined;
  const die = () => {
    dead = true;
    restart = victim.end(world).then(() => {
      dead = false;
      victim.begin(world);
    });
    throw new Error('killed');
  };
  const isCounted = (identity: string, method: string, path: string) =>
    counting && victim.counts(identity, method) && !path.includes('/events') && !path.includes('watch=');
  world.fleet.onRequest = (identity, { method, path }) => {
    if (dead && victim.counts(identity, method)) throw new Error('dead');
    if (!isCounted(identity, method, path)) return;
    const now = writes++;
    if (kill?.when === 'before' && kill.at === now && restart === undefined) die();
  };
  world.fleet.onAnswer = (identity, { method, path }) => {
    if (kill?.when === 'after' && isCounted(identity, method, path) && writes > kill.at && restart === undefined) die();
  };
  await world.mac('mac-1');
  await world.tenant('acme');
  await world.create(Pool, { metadata: { name: 'warm', namespace: 'acme' }, spec: { ...spec, replicas: 2 } });
  const pool = () => world.fleet.find<Pool>(Pool, 'warm', 'acme');
  const ready = () => pool()?.status?.ready;
  await world.until('it is warm', () => ready() === 2);
  counting = true;
  await world.create(VM, { metadata: { name: 'quick', namespace: 'acme' }, spec });
  const quick = () => world.vm('acme/quick');
  const isUp = () => findCondition(quick() ?? assert.fail('it is gone'), 'Ready')?.status === 'True';
  await world.until('it is up', isUp);
  await restart;
  await world.until('the pool is full again', () => ready() === 2 && world.guestsOn('mac-1').size === 3);
  const came = quick()?.status?.startedFrom;
  await world.fleet.resource<VM>(VM, 'acme').delete('quick');
  await world.until('it is gone', () => quick() === undefined);
  await world.request('PATCH', 'namespaces/acme/pools/warm/scale', { spec: { replicas: 1 } });
  await world.until('one is left', () => world.fleet.all<VM>(VM).length === 1 && ready() === 1);
  await restart;
  await world.passes('10m');
  const told = {
    came,
    claimed: pool()?.status?.claimed,
    why: findCondition(pool() ?? assert.fail(), 'Ready')?.reason,
    guests: [...world.guestsOn('mac-1').keys()].length,
    named: world.fleet.all<VM>(VM).every((vm) => world.guestsOn('mac-1').has(vm.spec.guestID ?? '')),
  };
  return { told, writes };
}

describe('a claim, whatever is killed before or after any request, and started again', () => {
  for (const [who, victim, least] of [
    ['the controllers', CONTROLLERS, 8],
    ['the nodelet', NODELET, 8],
  ] as const) {
    it(`ends in the same place without ${who} for a while`, async () => {
      const calm = await aDay(victim, undefined);
      assert.ok(calm.writes >= least, `${calm.writes} requests`);
      assert.deepEqual(calm.told, { came: 'pool', claimed: 1, why: 'Warm', guests: 1, named: true });
      for (let at = 0; at < calm.writes; at++) {
        for (const when of ['before', 'after'] as const) {
          assert.deepEqual(
            (await aDay(victim, { at, when })).told,
            calm.told,
            `killed ${when} ${at} of ${calm.writes}`,
          );
        }
      }
    }).timeout(300_000);
  }
});
