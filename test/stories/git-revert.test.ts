import assert from 'node:assert/strict';
import { parseMicros } from '../../resources/costs/money.ts';
import { planCost } from '../../resources/costs/plan-cost.ts';
import * as refs from '../../resources/guards/refs.ts';
import { World } from '../../resources/guards/world.ts';
import { Host } from '../../resources/kinds/host.ts';
import { Lease } from '../../resources/kinds/lease.ts';
import { PriceList } from '../../resources/kinds/price-list.ts';
import { objectKey } from '../../resources/meta/object.ts';
import { aLease } from '../harness/builders.ts';
import { FleetWorld } from '../harness/fleet-world.ts';

const SPEC = { minVCPUs: 8, releasePolicy: 'WhenAllowed' } as const;

async function priced(world: FleetWorld, macPerHour: string): Promise<void> {
  const prices = world.fleet.resource<PriceList>(PriceList);
  const body = { apiVersion: 'coppice.dev/v1', kind: 'PriceList', metadata: { name: 'default' }, spec: { macPerHour } };
  await prices.patch('default', body, { type: 'application/apply-patch+yaml', fieldManager: 'git', force: true });
}

/** What a plan would say of the lease being made now. */
function planned(world: FleetWorld) {
  const seen = new World();
  const hosts = world.fleet.all<Host>(Host);
  for (const host of hosts) seen.set(refs.HOSTS, host.metadata.name, host, 1);
  for (const lease of world.fleet.all<Lease>(Lease)) seen.set(refs.LEASES, objectKey(lease.metadata), lease, 1);
  for (const prices of world.fleet.all<PriceList>(PriceList)) seen.set(refs.PRICE_LISTS, 'default', prices, 1);
  const tenant = { metadata: { name: 'acme', creationTimestamp: '2026-03-01T10:00:00Z' }, spec: {} } as const;
  seen.set(
    refs.TENANTS,
    'acme',
    { apiVersion: 'v1', kind: 'Tenant', ...tenant, metadata: { ...tenant.metadata, uid: '', resourceVersion: '' } },
    1,
  );
  const after = aLease({ namespace: 'acme', spec: SPEC });
  return planCost([{ after }], { nowMs: world.clock.now(), world: seen, hosts });
}

describe('a deletion of a lease in Git', () => {
  it('that is reverted within the day costs nothing: the same Mac, instants and price, and no second day', async () => {
    await using world = await FleetWorld.start();
    await world.tenant('acme');
    await priced(world, '0.85');
    await world.mac('mini');
    await world.mac('spare');
    assert.equal(planned(world).atOnce, parseMicros('20.40'));
    await world.asks(SPEC);
    await world.runs('acme/build');
    const { host, grantedAt, earliestEnd, pricePerHour } = world.lease()?.status ?? {};
    assert.deepEqual([host, pricePerHour], ['mini', '0.85']);

    await world.passes('3h');
    assert.equal((await world.deletes('acme/ci')).status, 200);
    assert.equal(world.tells(), 'gone');
    await priced(world, '2.00');
    await world.passes('17h');
    assert.equal(world.hostTells('mini'), 'held for acme');
    assert.equal(world.vm('acme/build')?.status?.phase, 'Running');

    const plan = planned(world);
    assert.deepEqual([plan.perHour, plan.atOnce], [parseMicros('0.85'), 0n]);
    await world.asks(SPEC);
    await world.until('it is granted', () => world.tells() === 'Active on mini (Active)');
    const again = world.lease()?.status;
    assert.deepEqual(
      [again?.grantedAt, again?.earliestEnd, again?.pricePerHour],
      [grantedAt, earliestEnd, pricePerHour],
    );
    assert.equal(world.vm('acme/build')?.status?.phase, 'Running');

    await world.isNow(earliestEnd, 1_000);
    assert.equal((await world.deletes('acme/ci')).status, 200);
    await world.until('it is over', () => world.tells() === 'gone');
    await world.until('the Mac is let go', () => world.hostTells('mini') === 'waits for a scrub');
    assert.deepEqual(world.fleet.errors, []);
  });

  it('that is reverted after the day is a new lease, at the price of now', async () => {
    await using world = await FleetWorld.start();
    await world.tenant('acme');
    await priced(world, '0.85');
    await world.mac('mini');
    await world.mac('spare');
    await world.asks(SPEC);
    await world.settles();
    const { earliestEnd } = world.lease()?.status ?? {};
    assert.equal((await world.deletes('acme/ci')).status, 200);
    await world.isNow(earliestEnd, 1_000);
    await world.until('the Mac is let go', () => world.hostTells('mini') === 'waits for a scrub');
    await priced(world, '2.00');
    assert.equal(planned(world).atOnce, parseMicros('48'));
    await world.asks(SPEC);
    await world.until('it is granted', () => world.tells() === 'Active on spare (Active)');
    assert.equal(world.lease()?.status?.pricePerHour, '2.00');
  });
});
