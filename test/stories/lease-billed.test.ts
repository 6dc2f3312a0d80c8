import assert from 'node:assert/strict';
import { FleetWorld } from '../harness/fleet-world.ts';

/** A lease that was had for fifty hours, and what it is billed for once somebody has changed it. */
async function billedHours(change: (earliestEnd: string) => object, as: 'patch' | 'tenant' = 'patch'): Promise<number> {
  await using world = await FleetWorld.start();
  await world.tenant('acme');
  await world.mac('mini');
  await world.asks();
  await world.settles();
  const { grantedAt = '', earliestEnd = '' } = world.lease()?.status ?? {};
  await world.isNow(grantedAt, 50 * 3_600_000);
  if (as === 'tenant') await world.request('DELETE', 'tenants/acme');
  else assert.equal((await world.patches('acme/ci', { spec: change(earliestEnd) })).status, 200);
  await world.until('the host is let go', () => world.hostTells('mini') === 'waits for a scrub');
  // The record, and where the tenant has taken that with it, what the host keeps of it.
  const { billedUntil } = world.lease()?.status ?? world.host('mini').status?.pastLeases?.[0] ?? {};
  assert.deepEqual(world.fleet.errors, []);
  return Math.round((Date.parse(billedUntil ?? '') - Date.parse(grantedAt)) / 36_000) / 100;
}

describe('a lease that was had for fifty hours', () => {
  it('is billed for them when it is released now', async () => {
    assert.equal(await billedHours(() => ({ release: {} })), 50);
  });

  it('is billed for them when it is released as of a time that is past', async () => {
    assert.equal(await billedHours((earliestEnd) => ({ release: { at: earliestEnd } })), 50);
  });

  it('is billed for them when it is given a duration that is over', async () => {
    assert.equal(await billedHours(() => ({ duration: '24h' })), 50);
  });

  it('is billed for them when its tenant is deleted', async () => {
    assert.equal(await billedHours(() => ({}), 'tenant'), 50);
  });

  it('is billed to the end that was told, though nobody was there to end it', async () => {
    await using world = await FleetWorld.start();
    await world.tenant('acme');
    await world.mac('mini');
    await world.asks({ duration: '30h' });
    await world.settles();
    const { endsAt } = world.lease()?.status ?? {};
    await world.stopControllers();
    await world.passes('40h');
    world.startControllers();
    await world.until('it has ended', () => world.tells() === 'Ended on mini (Ended)');
    assert.equal(world.lease()?.status?.billedUntil, endsAt);
  });
});
