import assert from 'node:assert/strict';
import { Event } from '../../resources/kinds/event.ts';
import { Lease } from '../../resources/kinds/lease.ts';
import type { LeaseSet } from '../../resources/kinds/lease-set.ts';
import { Tenant } from '../../resources/kinds/tenant.ts';
import { FleetWorld } from '../harness/fleet-world.ts';
import { SetOfLeases } from '../harness/set-of-leases.ts';

async function aSet(replicas: number, template: Partial<LeaseSet['spec']['template']['spec']> = {}) {
  const world = await FleetWorld.start();
  await world.tenant('acme');
  for (let i = 1; i <= replicas; i++) await world.mac(`mac-${i}`);
  const set = new SetOfLeases(world);
  const spec = { releasePolicy: 'Refuse' as const, ...template };
  assert.equal((await set.asks({ replicas, template: { spec } })).status, 201);
  await set.until(`${replicas}/${replicas} (Active)`);
  return { world, set };
}

const hostsOf = (set: SetOfLeases) => set.leases.map(({ status }) => status?.host);

describe('a set of leases that is deleted', () => {
  for (const policy of ['Background', 'Foreground']) {
    it(`goes at once (${policy}), and its leases end with their minimum: nobody is told no, and nobody asks again and again`, async () => {
      const { world, set } = await aSet(2);
      await using _ = world;
      const earliest = set.leases.map(({ status }) => status?.earliestEnd);
      await world.passes('5s');
      assert.equal((await set.deletes(policy)).status, 200);
      await world.until(
        'it is gone, and its leases are nobody’s',
        () => set.tells === 'gone' && set.leases.every(isNobodys),
      );
      assert.deepEqual(
        set.leases.map(({ status }) => status?.endsAt),
        earliest,
      );
      const asked = world.fleet.all<Event>(Event).filter(({ reason }) => reason === 'ReleasedAtMinimum');
      assert.equal(asked.length, 2);
      assert.match(asked[0]?.message ?? '', /its owner is gone: it is nobody's, and ends at 2026-/);
      let writes = 0;
      world.fleet.onRequest = (identity, { method, path }) => {
        if (identity === 'system:controller:garbage' && method !== 'GET' && path.includes('/leases')) writes++;
      };
      await world.isNow(earliest[0], -2000);
      assert.equal(set.phases, '2 Active');
      assert.equal(writes, 0, 'garbage has nothing more to do with them');
      await world.isNow(earliest[0], 60_000);
      await world.until('both are over', () => set.phases === '2 Ended');
      await world.passes('1h');
      assert.equal(set.phases, '2 Ended', 'records stay');
      assert.deepEqual(world.fleet.errors, []);
    });
  }

  it('and made again by a revert has its leases back, with their releases taken back', async () => {
    const { world, set } = await aSet(2);
    await using _ = world;
    const uids = set.leases.map(({ metadata }) => metadata.uid);
    const before = set.leases.map(({ status }) => [status?.grantedAt, status?.pricePerHour]);
    await set.deletes();
    await world.until('its leases are nobody’s', () => set.leases.every(isNobodys));
    await world.passes('3h');
    await set.asks({ replicas: 2 });
    await set.until('2/2 (Active)');
    assert.deepEqual(
      set.leases.map(({ metadata }) => metadata.uid),
      uids,
    );
    assert.deepEqual(
      set.leases.map(({ spec }) => spec.release),
      [undefined, undefined],
    );
    await world.passes('48h');
    assert.equal(set.phases, '2 Active');
    assert.deepEqual(
      set.leases.map(({ status }) => [status?.grantedAt, status?.pricePerHour]),
      before,
    );
    assert.deepEqual(world.fleet.errors, []);
  });

  it('WhenAllowed lets the objects go and the hosts be held; made again its leases take them over, with their instants', async () => {
    const { world, set } = await aSet(2, { releasePolicy: 'WhenAllowed' });
    await using _ = world;
    const [hosts, granted] = [hostsOf(set), set.leases.map(({ status }) => status?.grantedAt)];
    await set.deletes();
    await world.until('all are gone', () => set.leases.length === 0);
    assert.deepEqual(
      hosts.map((host) => world.hostTells(host ?? '')),
      ['held for acme', 'held for acme'],
    );
    await world.passes('3h');
    await set.asks({ replicas: 2 });
    await set.until('2/2 (Active)');
    assert.deepEqual(hostsOf(set).sort(), hosts.sort());
    assert.deepEqual(set.leases.map(({ status }) => status?.grantedAt).sort(), granted.sort());
    assert.deepEqual(world.fleet.errors, []);
  });

  it('leaves its leases as they are with Orphan, and takes them again when it is back', async () => {
    const { world, set } = await aSet(2);
    await using _ = world;
    const uids = set.leases.map(({ metadata }) => metadata.uid);
    await set.deletes('Orphan');
    await world.until('its leases are nobody’s', () => set.tells === 'gone' && set.leases.every(isNobodys));
    await world.passes('30h');
    assert.equal(set.phases, '2 Active');
    await set.asks({ replicas: 1 });
    await world.until('one is released, for its minimum is over', () => set.phases === '1 Active, 1 Ended');
    assert.deepEqual(
      set.leases.map(({ metadata }) => metadata.uid),
      uids,
    );
    assert.deepEqual(world.fleet.errors, []);
  });
});

describe('the leases of a set', () => {
  it('are made from the template as it is then; those that are there stay as they are', async () => {
    const { world, set } = await aSet(1, { minVCPUs: 4 });
    await using _ = world;
    const [old] = set.leases;
    await world.mac('big', { vcpus: 12 });
    await set.patches({
      replicas: 2,
      template: { metadata: { annotations: { why: 'bigger' } }, spec: { minVCPUs: 10 } },
    });
    await set.until('2/2 (Active)');
    const [made] = set.leases.filter(({ metadata }) => metadata.uid !== old?.metadata.uid);
    assert.deepEqual([made?.spec.minVCPUs, made?.metadata.annotations], [10, { why: 'bigger' }]);
    assert.equal(set.leases.find(({ metadata }) => metadata.uid === old?.metadata.uid)?.spec.minVCPUs, 4);
    assert.deepEqual(world.fleet.errors, []);
  });

  it('are those with its label: one that loses it leaves and is replaced, one that gains it joins', async () => {
    const { world, set } = await aSet(1);
    await using _ = world;
    await world.mac('mac-2');
    const key = `acme/${set.leases[0]?.metadata.name}`;
    await world.patches(key, { metadata: { labels: { 'coppice.dev/lease-set': null } } });
    await world.until(
      'there is another',
      () => set.phases === '1 Active' && world.lease(key)?.metadata.ownerReferences === undefined,
    );
    assert.equal(world.tells(key).startsWith('Active'), true);
    await world.patches(key, { metadata: { labels: { 'coppice.dev/lease-set': 'builders' } } });
    await set.until('2/1 +1 (Active)');
    assert.deepEqual(world.fleet.errors, []);
  });

  it('are not made while the tenant is disabled, or not there; those that are there stay', async () => {
    await using world = await FleetWorld.start();
    for (const name of ['a', 'b']) await world.mac(name);
    await world.namespace('acme');
    const set = new SetOfLeases(world);
    await set.asks({ replicas: 1 });
    await set.until('0/1 (TenantNotFound)');
    assert.equal(set.leases.length, 0);
    await world.tenant('acme');
    await set.until('1/1 (Active)');
    await world.request('PATCH', 'tenants/acme', { spec: { disabled: true } });
    await set.scales(2);
    await set.until('1/2 (TenantDisabled)');
    await world.request('PATCH', 'tenants/acme', { spec: { disabled: false } });
    await set.until('2/2 (Active)');
    assert.deepEqual(world.fleet.errors, []);
  });

  it('end with the minimum when the tenant is deleted, and no more are made', async () => {
    const { world, set } = await aSet(2);
    await using _ = world;
    await set.scales(3);
    await set.until('2/3 (AlreadyLeased)');
    await world.fleet.resource<Tenant>(Tenant).delete('acme');
    await set.until('2/3 (TenantDeleting)');
    assert.equal(set.phases, '2 Active', 'what waited is gone');
    await world.passes('25h');
    await world.until('all is gone', () => world.fleet.find<Tenant>(Tenant, 'acme') === undefined);
    assert.deepEqual([set.set, world.fleet.all<Lease>(Lease)], [undefined, []]);
    assert.deepEqual(world.fleet.errors, []);
  });
});

const isNobodys = ({ metadata }: Lease) => (metadata.ownerReferences ?? []).length === 0;
