import assert from 'node:assert/strict';
import { VM } from '../../resources/kinds/vm.ts';
import { findCondition } from '../../resources/meta/condition.ts';
import { FleetWorld } from '../harness/fleet-world.ts';
import { controllersAt, endsAlike, type Kill, Killer, type Life } from '../harness/killer.ts';

const SIZE = { vcpus: 1, memory: '2Gi' };

/** A host with a VM that may be moved, one that ends by itself and one that stays is drained, and the drain is ended after. */
async function aDrain(kill?: Kill): Promise<Life> {
  await using world = await FleetWorld.start({ duties: false });
  const killer = new Killer(world, controllersAt('drain'), kill);
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
  await killer.healed();
  await world.passes('10m');
  const { spec, metadata, status } = world.vm('acme/web') ?? assert.fail();
  const told = {
    vms: world.fleet.all<VM>(VM).map((vm) => `${vm.metadata.name} on ${vm.spec.hostName} ${vm.status?.phase}`),
    web: [metadata.uid === uid, spec.epoch, status?.guest?.epoch, status?.host],
    guests: ['old', 'new'].map((host) => [...world.guestsOn(host).values()].map(({ spec: of }) => of.label)),
    host: [world.host('old').spec, findCondition(world.host('old'), 'Drained')],
  };
  return { told, counted: killer.counted };
}

describe('a drain duty that is killed before or after any write, and started again', () => {
  it('ends in the same place', async () => {
    await endsAlike(aDrain, {
      least: 6,
      told: {
        vms: ['pet on old Running', 'web on new Running'],
        web: [true, 2, 2, 'new'],
        guests: [['acme/pet'], ['acme/web']],
        host: [{ group: 'default' }, undefined],
      },
    });
  }).timeout(300_000);
});
