import assert from 'node:assert/strict';
import { VM } from '../../resources/kinds/vm.ts';
import { findCondition } from '../../resources/meta/condition.ts';
import { FleetWorld } from '../harness/fleet-world.ts';

interface Kill {
  readonly at: number;
  readonly when: 'before' | 'after';
}

const SIZE = { vcpus: 1, memory: '2Gi' };

/** A host with a VM that may be moved, one that ends by itself and one that stays is drained, and the drain is ended after. */
async function aDrain(kill: Kill | undefined): Promise<{ readonly told: unknown; readonly writes: number }> {
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
    identity === 'system:controller:drain' && method !== 'GET' && !path.includes('/events');
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
  await world.tenant('acme', { quota: { maxVMs: 3, maxVCPUs: 3, maxMemory: '6Gi' } });
  await world.mac('old');
  for (const [name, spec] of [
    ['web', { reschedulable: true }],
    ['job', { ttl: '99h' }],
    ['pet', {}],
  ] as const) {
    await world.runs(`acme/${name}`, { image: 'linux', size: SIZE, ...spec });
  }
  const { uid } = world.vm('acme/web')?.metadata ?? {};
  await world.mac('new');
  await world.request('PATCH', 'hosts/old', { spec: { drain: { mode: 'Reschedule' } } });
  const drained = () => findCondition(world.host('old'), 'Drained')?.status === 'True';
  await world.until('it is drained', () => drained() && world.vm('acme/job') === undefined);
  await world.request('PATCH', 'hosts/old', { spec: { drain: null, cordoned: null } });
  await world.until('it is over', () => world.host('old').status?.drain === undefined);
  await restart;
  await world.passes('10m');
  const { spec, metadata, status } = world.vm('acme/web') ?? assert.fail();
  const told = {
    vms: world.fleet.all<VM>(VM).map((vm) => `${vm.metadata.name} on ${vm.spec.hostName} ${vm.status?.phase}`),
    web: [metadata.uid === uid, spec.epoch, status?.guest?.epoch, status?.host],
    guests: ['old', 'new'].map((host) => [...world.guestsOn(host).values()].map(({ spec: of }) => of.label)),
    host: [world.host('old').spec, findCondition(world.host('old'), 'Drained')],
  };
  return { told, writes };
}

describe('a drain duty that is killed before or after any write, and started again', () => {
  it('ends in the same place', async () => {
    const calm = await aDrain(undefined);
    assert.ok(calm.writes >= 6, `${calm.writes} writes`);
    assert.deepEqual(calm.told, {
      vms: ['pet on old Running', 'web on new Running'],
      web: [true, 2, 2, 'new'],
      guests: [['acme/pet'], ['acme/web']],
      host: [{ group: 'default' }, undefined],
    });
    for (let at = 0; at < calm.writes; at++) {
      for (const when of ['before', 'after'] as const) {
        assert.deepEqual((await aDrain({ at, when })).told, calm.told, `killed ${when} write ${at} of ${calm.writes}`);
      }
    }
  }).timeout(300_000);
});
