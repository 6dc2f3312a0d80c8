import assert from 'node:assert/strict';
import { hostIdentity } from '../../apiserver/auth/identity.ts';
import { Tenant } from '../../resources/kinds/tenant.ts';
import { FleetWorld } from '../harness/fleet-world.ts';

const LEASE = 'namespaces/acme/leases/ci';

describe('what a host keeps of its leases', () => {
  it('outlives the Lease and its tenant: who had it, until when it is billed, at what price, and when it was clear', async () => {
    await using world = await FleetWorld.start({ duties: false });
    world.startControllers('tenant', 'image', 'scrub', 'lease', 'placement', 'vm-lifecycle', 'garbage');
    await world.request('PATCH', 'pricelists/default', { spec: { macPerHour: '0.60' } });
    await world.tenant('acme');
    await world.mac('mini');
    await world.asks();
    await world.until('it has its host', () => world.tells() === 'Active on mini (Active)');
    const { uid } = world.lease()?.metadata ?? {};
    const { grantedAt, earliestEnd } = world.lease()?.status ?? {};
    await world.passes('1h');
    await world.request('PATCH', 'tenants/acme', { spec: { forceDelete: { requestedAt: '2026-03-01T10:00:00Z' } } });
    await world.request('DELETE', 'tenants/acme');
    await world.until('the tenant is gone', () => world.fleet.find<Tenant>(Tenant, 'acme') === undefined);
    const [record] = world.host('mini').status?.pastLeases ?? [];
    assert.deepEqual(
      { ...record, endedAt: '' },
      {
        ...{ namespace: 'acme', name: 'ci', uid, since: grantedAt, endedAt: '', billedUntil: earliestEnd },
        ...{ pricePerHour: '0.60', currency: 'USD', forced: true },
      },
    );

    const forged = { status: { pastLeases: [] } };
    const nodelet = await world.request('PATCH', 'hosts/mini/status', forged, hostIdentity('mini'));
    assert.deepEqual([nodelet.status, nodelet.body.details?.causes?.[0]?.reason], [403, 'FieldWriter']);

    await world.request('PATCH', 'hosts/mini', { spec: { scrub: { requestedAt: '2026-03-01T12:00:00Z' } } });
    await world.until('it is clear', () => world.hostTells('mini') === 'free');
    const { scrub, pastLeases } = world.host('mini').status ?? {};
    assert.ok(scrub?.finishedAt !== undefined);
    assert.deepEqual(
      pastLeases?.map((each) => each.scrubbedAt),
      [scrub.finishedAt],
    );
    assert.deepEqual(world.fleet.errors, []);
  });

  it('is there still when the Host goes, with the lease it was held for, and is had again by one that is made anew', async () => {
    await using world = await FleetWorld.start();
    await world.request('PATCH', 'pricelists/default', { spec: { macPerHour: '0.60' } });
    await world.tenant('acme');
    await world.mac('mini');
    await world.asks();
    await world.until('it has its host', () => world.tells() === 'Active on mini (Active)');
    const { uid } = world.lease()?.metadata ?? {};
    const { grantedAt, earliestEnd } = world.lease()?.status ?? {};
    await world.request('PATCH', LEASE, { spec: { releasePolicy: 'WhenAllowed' } });
    await world.request('DELETE', LEASE);
    await world.until('it is held', () => world.host('mini').status?.lease?.released === true);
    await world.request('PATCH', 'hosts/mini', { spec: { forget: true } });
    assert.equal((await world.request('DELETE', 'hosts/mini')).status, 200);
    await world.until('the Host is made anew by its nodelet', () => world.hostTells('mini') === 'waits for a scrub');
    const [record] = world.host('mini').status?.pastLeases ?? [];
    assert.deepEqual(
      { ...record, endedAt: '' },
      {
        ...{ namespace: 'acme', name: 'ci', uid, since: grantedAt, endedAt: '', billedUntil: earliestEnd },
        ...{ pricePerHour: '0.60', currency: 'USD', forced: true },
      },
    );
  });
});
