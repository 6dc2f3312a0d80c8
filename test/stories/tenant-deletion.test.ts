import assert from 'node:assert/strict';
import { ConfigMap } from '../../resources/kinds/config-map.ts';
import { Namespace } from '../../resources/kinds/namespace.ts';
import { Tenant } from '../../resources/kinds/tenant.ts';
import { findCondition } from '../../resources/meta/condition.ts';
import { FleetWorld } from '../harness/fleet-world.ts';

const tenantOf = (world: FleetWorld) => world.fleet.find<Tenant>(Tenant, 'acme');
const namespaceOf = (world: FleetWorld) => world.fleet.find<Namespace>(Namespace, 'acme');
const deleted = (world: FleetWorld) => world.request('DELETE', 'tenants/acme');

/** What the tenant waits for. */
function waits(world: FleetWorld): string | undefined {
  const tenant = tenantOf(world);
  const ready = tenant && findCondition(tenant, 'Ready');
  return ready?.reason === 'Deleting' ? ready.message : undefined;
}

const isGone = (world: FleetWorld) =>
  world.until('the tenant is gone', () => tenantOf(world) === undefined && namespaceOf(world) === undefined);

async function leased(): Promise<FleetWorld> {
  const world = await FleetWorld.start();
  await world.tenant('acme');
  await world.tenant('beta');
  await world.mac('mini');
  await world.asks();
  await world.until('it is granted', () => world.tells() === 'Active on mini (Active)');
  return world;
}

describe('a tenant that is deleted', () => {
  it('has its VMs removed at once and its lease end when it may, tells so, and only then goes', async () => {
    await using world = await leased();
    await world.runs('acme/build');
    const { earliestEnd } = world.lease()?.status ?? {};
    await world.passes('1h');
    assert.equal((await deleted(world)).status, 200);
    await world.until('the VM is gone', () => world.vm('acme/build') === undefined);
    await world.settles();
    assert.equal(waits(world), `waits until 1 lease is over: ci (mini, at ${earliestEnd})`);
    assert.equal(world.lease()?.spec.release?.at, earliestEnd);
    assert.equal(findCondition(tenantOf(world) ?? assert.fail(), 'Enabled')?.reason, 'Deleting');
    assert.deepEqual([tenantOf(world)?.status?.used?.leases, tenantOf(world)?.status?.used?.leasedHosts], [1, 1]);
    assert.equal(namespaceOf(world)?.status?.phase, 'Terminating');

    await world.isNow(earliestEnd, -2_000);
    assert.equal(world.tells(), 'Active on mini (Active)');
    assert.equal(world.hostTells('mini'), 'leased to acme');
    await world.passes('2s');
    await isGone(world);
    assert.equal(world.hostTells('mini'), 'waits for a scrub');
    assert.deepEqual(world.fleet.errors, []);
  });

  it('takes nothing new into its namespace from that moment on, from anybody', async () => {
    await using world = await leased();
    await deleted(world);
    const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'm' } };
    await assert.rejects(world.fleet.resource<ConfigMap>(ConfigMap, 'acme').create(map), {
      reason: 'Forbidden',
      message: /unable to create new content in namespace acme because it is being terminated/,
    });
    const lease = await world.asks({}, 'acme/second');
    assert.deepEqual([lease.status, lease.body.details?.causes?.[0]?.reason], [403, 'NamespaceTerminating']);
  });

  it('waits for a Mac that is held after its Lease was deleted, which nobody else gets before', async () => {
    await using world = await leased();
    const { earliestEnd } = world.lease()?.status ?? {};
    await world.patches('acme/ci', { spec: { releasePolicy: 'WhenAllowed' } });
    assert.equal((await world.deletes('acme/ci')).status, 200);
    assert.equal(world.hostTells('mini'), 'held for acme');
    await deleted(world);
    await world.asks({}, 'beta/ci');
    await world.passes('23h');
    assert.equal(
      waits(world),
      `waits until 1 host is free that is held to the end of its minimum: mini at ${earliestEnd}`,
    );
    assert.equal(world.tells('beta/ci').startsWith('Pending'), true);
    await world.isNow(earliestEnd, 1_000);
    await isGone(world);
    assert.equal(world.hostTells('mini'), 'waits for a scrub');
  });

  it('goes at once by force: its lease ends, billed to the minimum, and a Mac that is held stays held', async () => {
    await using world = await leased();
    await world.mac('pro', { vcpus: 12 });
    await world.asks({ releasePolicy: 'WhenAllowed', minVCPUs: 10 }, 'acme/big');
    await world.until('it is granted', () => world.tells('acme/big') === 'Active on pro (Active)');
    const { earliestEnd } = world.lease('acme/big')?.status ?? {};
    await world.deletes('acme/big');
    await world.runs('acme/build');
    await deleted(world);
    await world.settles();
    assert.match(waits(world) ?? '', /1 lease is over: ci .*; until 1 host is free .*: pro at /);

    // Kept by another for a while, so that its record can be read.
    await world.patches('acme/ci', { metadata: { finalizers: ['example.com/reads-it'] } });
    await world.request('PATCH', 'tenants/acme', { spec: { forceDelete: { requestedAt: '2026-03-01T10:00:00Z' } } });
    await world.until('it has ended', () => world.lease()?.status?.phase === 'Ended');
    const ended = world.lease();
    await world.patches('acme/ci', { metadata: { finalizers: null } });
    await isGone(world);
    const set = ended?.status?.overrides?.map(({ what, by }) => `${what} by ${by}`);
    assert.deepEqual([...new Set(set)].sort(), [
      'ForTenant by operator',
      'ForcedRelease by system:controller:tenant',
      'TenantDeleted by system:controller:tenant',
    ]);
    assert.equal(world.hostTells('mini'), 'waits for a scrub');
    assert.equal(world.hostTells('pro'), 'held for acme');
    await world.isNow(earliestEnd, 1_000);
    await world.until('it is let go', () => world.hostTells('pro') === 'waits for a scrub');
    assert.deepEqual(world.fleet.errors, []);
  });

  it('drops a lease that never had a Mac, and takes its records along', async () => {
    await using world = await FleetWorld.start();
    await world.tenant('acme');
    await world.mac('mini');
    await world.asks({ duration: '24h' }, 'acme/first');
    await world.until('it is granted', () => world.tells('acme/first') === 'Active on mini (Active)');
    await world.isNow(world.lease('acme/first')?.status?.endsAt, 1_000);
    await world.until('it is over', () => world.tells('acme/first') === 'Ended on mini (Ended)');
    await world.asks({}, 'acme/waits');
    await world.settles();
    assert.match(world.tells('acme/waits'), /^Pending/);
    await deleted(world);
    await isGone(world);
    assert.deepEqual([world.lease('acme/first'), world.lease('acme/waits')], [undefined, undefined]);
    assert.deepEqual(world.fleet.errors, []);
  });

  it('does not wait for a release that was wished for later than it may be', async () => {
    await using world = await leased();
    const { earliestEnd } = world.lease()?.status ?? {};
    await world.patches('acme/ci', { spec: { release: { at: '2026-04-01T00:00:00Z' } } });
    await deleted(world);
    await world.settles();
    assert.equal(world.lease()?.spec.release?.at, earliestEnd);
  });
});

describe('a tenant of a namespace that was there before', () => {
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'acme' } };
  const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'm' } };

  it('takes it over as it is, and takes it along when it goes, once others let it go', async () => {
    await using world = await FleetWorld.start();
    const namespaces = world.fleet.resource<Namespace>(Namespace);
    const made = await namespaces.create({ ...namespace, spec: { finalizers: ['example.com/keep'] } });
    await world.fleet.resource<ConfigMap>(ConfigMap, 'acme').create(map);
    await world.tenant('acme');
    const adopted = namespaceOf(world);
    assert.deepEqual(
      [adopted?.metadata.uid, adopted?.metadata.labels?.['coppice.dev/tenant']],
      [made.metadata.uid, 'acme'],
    );
    assert.equal(world.fleet.all(ConfigMap).length, 1);
    await namespaces.patch('acme', { metadata: { labels: null } });
    assert.equal(namespaceOf(world)?.metadata.labels?.['coppice.dev/tenant'], 'acme');
    await assert.rejects(namespaces.delete('acme'), { reason: 'Forbidden', message: /Tenant acme lives in it/ });

    await deleted(world);
    await world.until('it waits', () => waits(world)?.includes('example.com/keep') === true);
    assert.equal(waits(world), 'waits until others let its namespace go: example.com/keep');
    const { metadata } = await namespaces.get('acme');
    const path = '/api/v1/namespaces/acme/finalize';
    const body = { ...namespace, metadata, spec: { finalizers: ['kubernetes'] } };
    await world.fleet.test.client.json({
      method: 'PUT',
      path,
      headers: { 'content-type': 'application/json' },
      body: new TextEncoder().encode(JSON.stringify(body)),
    });
    await isGone(world);
    assert.deepEqual([world.fleet.all(ConfigMap), world.fleet.errors], [[], []]);
  });

  it('is not made while the namespace is going', async () => {
    await using world = await FleetWorld.start({ duties: false });
    const namespaces = world.fleet.resource<Namespace>(Namespace);
    await namespaces.create({ ...namespace, metadata: { name: 'acme', labels: { 'coppice.dev/tenant': 'acme' } } });
    await namespaces.delete('acme');
    assert.equal(namespaceOf(world)?.status?.phase, 'Terminating');
    const refused = await world.request('POST', 'tenants', {
      apiVersion: 'coppice.dev/v1',
      kind: 'Tenant',
      metadata: { name: 'acme' },
    });
    assert.deepEqual([refused.status, refused.body.details?.causes?.[0]?.reason], [403, 'NamespaceTerminating']);
    world.startControllers('garbage');
    await world.until('it is gone', () => namespaceOf(world) === undefined);
  });
});
