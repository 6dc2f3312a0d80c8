import assert from 'node:assert/strict';
import { Tenant } from '../../resources/kinds/tenant.ts';
import { VM } from '../../resources/kinds/vm.ts';
import { FleetWorld } from '../harness/fleet-world.ts';

const spec = { image: 'linux', size: { vcpus: 1, memory: '1Gi' } };

const ask = (world: FleetWorld, name: string) =>
  world.request('POST', 'namespaces/acme/vms', { apiVersion: 'coppice.dev/v1', kind: 'VM', metadata: { name }, spec });

const used = (world: FleetWorld) => world.fleet.find<Tenant>(Tenant, 'acme')?.status?.used;

describe('a tenant that has room for six VMs and has four', () => {
  async function four(): Promise<FleetWorld> {
    const world = await FleetWorld.start();
    await world.mac('mini');
    await world.tenant('acme', { quota: { maxVMs: 6, maxVCPUs: 40 } });
    for (const name of ['a', 'b', 'c', 'd']) await world.runs(`acme/${name}`, spec);
    return world;
  }

  it('gets two of twenty that are asked for at once, and the others are told the numbers', async () => {
    await using world = await four();
    const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => ask(world, `burst-${i}`)));
    const refused = answers.filter(({ status }) => status === 403);
    assert.deepEqual([answers.filter(({ status }) => status === 201).length, refused.length], [2, 18]);
    for (const { body } of refused) {
      assert.match(body.message ?? '', /is forbidden: exceeded quota: maxVMs: requested 1, used 6, limited 6$/);
      assert.equal(body.details?.causes?.[0]?.reason, 'QuotaExceeded');
    }
    await world.until('it is summed up', () => used(world)?.vms === 6);
  });

  it('has the room of one that is deleted when its guest is gone, not before', async () => {
    await using world = await four();
    for (const name of ['e', 'f']) await world.runs(`acme/${name}`, spec);
    await world.stopNodelet('mini');
    await world.fleet.resource<VM>(VM, 'acme').delete('a');
    await world.settles();
    assert.equal((await ask(world, 'g')).status, 403, 'its guest is there still');
    world.startNodelet('mini');
    await world.until('the guest is gone', () => world.vm('acme/a') === undefined);
    assert.equal((await ask(world, 'g')).status, 201);
    assert.equal((await ask(world, 'h')).status, 403);
  });

  it('keeps what it has when the limit is set below that, and gets no more', async () => {
    await using world = await four();
    await world.request('PATCH', 'tenants/acme', { spec: { quota: { maxVMs: 2 } } });
    await world.passes('10m');
    assert.deepEqual(
      ['a', 'b', 'c', 'd'].map((name) => world.vm(`acme/${name}`)?.status?.phase),
      Array(4).fill('Running'),
    );
    assert.match((await ask(world, 'e')).body.message ?? '', /used 4, limited 2$/);
    assert.equal((await world.request('PATCH', 'namespaces/acme/vms/a', { spec: { ttl: '8h' } })).status, 200);
    assert.deepEqual(world.fleet.errors, []);
  });
});
