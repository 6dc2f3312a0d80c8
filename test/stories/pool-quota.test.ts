import assert from 'node:assert/strict';
import { type Identity, OPERATOR, ownerIdentity } from '../../apiserver/auth/identity.ts';
import { VM } from '../../resources/kinds/vm.ts';
import { FleetWorld } from '../harness/fleet-world.ts';
import { asks, cameUp, keeps, members, pool, tells } from '../harness/pool-story.ts';

const OWNER = ownerIdentity('acme');
const HELD = { metadata: { finalizers: ['coppice.dev/guest', 'acme.io/hold'] } };

describe('a pool that fills the quota of its tenant', () => {
  async function full(): Promise<FleetWorld> {
    const world = await FleetWorld.start();
    for (const name of ['a', 'b']) await world.mac(name);
    await world.tenant('acme', { quota: { maxVMs: 3 } });
    await keeps(world);
    await world.until('it is warm', () => tells(world) === '3 of 3, Warm');
    return world;
  }

  const patch = (world: FleetWorld, name: string, body: object, as: Identity = OPERATOR) =>
    world.request('PATCH', `namespaces/acme/vms/${name}`, body, as);
  const holds = async (world: FleetWorld) => {
    for (const { metadata } of members(world)) await patch(world, metadata.name, HELD);
  };
  const three = ['q1', 'q2', 'q3'];
  const guests = (world: FleetWorld) => world.guestsOn('a').size + world.guestsOn('b').size;
  const owns = (world: FleetWorld) => world.fleet.all<VM>(VM).filter(({ spec }) => spec.claimable !== true);

  it('makes no room for VMs that cannot take its members, however often they are held and go', async () => {
    await using world = await full();
    await holds(world);
    for (const round of [1, 2]) {
      const answers = [];
      for (const name of three) answers.push((await asks(world, name)).status);
      assert.deepEqual(new Set(answers), new Set([403]), `round ${round}: what cannot be taken made room`);
      await world.request('PATCH', 'namespaces/acme/pools/warm', { spec: { replicas: 0 } });
      await world.until('the guests are gone', () => guests(world) === 0);
      for (const name of three) assert.equal((await asks(world, name)).status, 201);
      await world.until('they run', () => three.every((name) => cameUp(world, `acme/${name}`) === 'cold'));
      await world.request('PATCH', 'namespaces/acme/pools/warm', { spec: { replicas: 3 } });
      await world.until('the pool says why it is empty', () => tells(world).endsWith('QuotaExceeded'));
      for (const name of three) await world.request('DELETE', `namespaces/acme/vms/${name}`);
      await world.until('it is warm', () => tells(world) === '3 of 3, Warm');
      await holds(world);
    }
  });

  it('gives way when its members are held after VMs were let in for them, whatever of others is there still', async () => {
    await using world = await full();
    await holds(world);
    await world.request('PATCH', 'namespaces/acme/pools/warm', { spec: { replicas: 0 } });
    await world.until('the guests are gone', () => guests(world) === 0 && members(world).length === 3);
    await world.request('PATCH', 'namespaces/acme/pools/warm', { spec: { replicas: 3 } });
    await world.until('it is warm', () => tells(world) === '3 of 3, Warm');
    await world.stopControllers();
    for (const name of three) assert.equal((await asks(world, name)).status, 201);
    await holds(world);
    world.startControllers();
    await world.until('they run', () => three.every((name) => cameUp(world, `acme/${name}`) === 'cold'));
    await world.until('the members gave way', () => guests(world) === 3);
  });

  for (const power of ['Stopped', 'Paused'] as const) {
    it(`gives way to VMs that are to be ${power} before they took its members`, async () => {
      await using world = await full();
      await world.stopControllers();
      for (const name of three) assert.equal((await asks(world, name)).status, 201);
      for (const name of three) assert.equal((await patch(world, name, { spec: { power } })).status, 200);
      world.startControllers();
      await world.until('it gave way', () => members(world).length === 0 && guests(world) === 0);
      assert.equal((await asks(world, 'q4')).status, 403);
    });
  }

  it('gives way to a VM that finds no host, with members that find none either', async () => {
    await using world = await FleetWorld.start();
    await world.mac('a');
    await world.tenant('acme', { quota: { maxVMs: 3 } });
    await world.request('PATCH', 'hosts/a', { spec: { cordoned: true } });
    await keeps(world);
    await world.until('all of it waits', () => tells(world) === '0 of 3, 3 warming, NoHostFits');
    await asks(world, 'q1');
    await world.until('it gave way', () => owns(world).length === 1 && members(world).length === 2);
    await world.request('PATCH', 'hosts/a', { spec: { cordoned: false } });
    await world.until('all is up', () => cameUp(world, 'acme/q1') !== undefined && tells(world).startsWith('2 of 3'));
  });

  it('gives way when it is deleted, though somebody holds it, after VMs were let in for its members', async () => {
    await using world = await full();
    await world.stopControllers();
    for (const name of three) assert.equal((await asks(world, name)).status, 201);
    for (const { metadata } of members(world)) await patch(world, metadata.name, { spec: { power: 'Paused' } }, OWNER);
    const path = 'namespaces/acme/pools/warm';
    await world.request('PATCH', path, { metadata: { finalizers: ['acme.io/hold'] } }, OWNER);
    await world.request('DELETE', path, undefined, OWNER);
    world.startControllers();
    await world.until(
      'they run, and nothing else',
      () => guests(world) === 3 && three.every((name) => cameUp(world, `acme/${name}`) === 'cold'),
    );
    await world.until('it says why', () => tells(world) === '0 of 3, 0 there, Deleting');
    await world.request('PATCH', path, { metadata: { finalizers: null } }, OWNER);
    await world.until('it is gone', () => pool(world) === undefined);
  });

  it('has members that its tenant can neither hold nor have for itself', async () => {
    await using world = await full();
    const [first] = members(world);
    const { name = '', finalizers } = first?.metadata ?? assert.fail();
    for (const metadata of [HELD.metadata, { ownerReferences: [] }, { ownerReferences: null }]) {
      const { status, body } = await patch(world, name, { metadata }, OWNER);
      assert.deepEqual([status, body.details?.causes?.[0]?.reason], [403, 'PoolMember'], JSON.stringify(metadata));
    }
    assert.deepEqual(world.vm(`acme/${name}`)?.metadata.finalizers, finalizers);
    assert.equal((await patch(world, name, { metadata: { labels: { team: 'x' } } }, OWNER)).status, 200);
    const orphans = { propagationPolicy: 'Orphan' };
    const { status, body } = await world.request('DELETE', 'namespaces/acme/pools/warm', orphans, OWNER);
    assert.deepEqual([status, body.details?.causes?.[0]?.reason], [403, 'MembersGoWithIt']);
    assert.equal((await world.request('DELETE', `namespaces/acme/vms/${name}`, undefined, OWNER)).status, 200);
    const foreground = { propagationPolicy: 'Foreground' };
    assert.equal((await world.request('DELETE', 'namespaces/acme/pools/warm', foreground, OWNER)).status, 200);
    await world.until('it is gone with them', () => pool(world) === undefined && guests(world) === 0);
  });
});
