import assert from 'node:assert/strict';
import { FleetWorld } from '../harness/fleet-world.ts';

const HOUR_MS = 3_600_000;

describe('the story of a lease', () => {
  it('is given the smallest Mac that fits, for 24 hours to the second, and says when', async () => {
    await using world = await FleetWorld.start();
    await world.tenant('acme');
    await world.mac('studio', { vcpus: 24, memoryGiB: 66 });
    await world.mac('mini', { vcpus: 8, memoryGiB: 18 });
    await world.mac('pro', { vcpus: 12, memoryGiB: 34 });
    await world.asks({ minVCPUs: 10, minMemory: '32Gi' });
    await world.settles();
    assert.equal(world.tells(), 'Active on pro (Active)');
    assert.equal(world.hostTells('pro'), 'leased to acme');
    const { grantedAt, earliestEnd, endsAt, pricePerHour, currency } = world.lease()?.status ?? {};
    assert.equal(Date.parse(earliestEnd ?? '') - Date.parse(grantedAt ?? ''), 24 * HOUR_MS);
    assert.deepEqual([endsAt, pricePerHour, currency], [undefined, '0', 'USD']);
  });

  it('is not released early; forced, its VMs go, the Mac waits for a scrub, and it is billed to its minimum', async () => {
    await using world = await FleetWorld.start();
    await world.tenant('acme');
    await world.mac('mini');
    await world.asks({ duration: '8h' });
    await world.runs('acme/build');
    await world.runs('acme/helper', { image: 'linux' });
    const { earliestEnd } = world.lease()?.status ?? {};
    assert.equal(world.lease()?.status?.endsAt, earliestEnd, '8h is raised to 24h');

    const early = await world.deletes('acme/ci');
    assert.equal(early.status, 403);
    assert.equal(early.body.details?.causes?.[0]?.reason, 'MinimumTerm');
    assert.match(early.body.message ?? '', new RegExp(`minimum term ends at ${earliestEnd}.*WhenAllowed`));
    assert.equal((await world.patches('acme/ci', { spec: { release: {} } })).status, 403);
    await world.passes('1h');
    assert.equal(world.tells(), 'Active on mini (Active)');

    assert.equal((await world.patches('acme/ci', { spec: { release: { force: true } } })).status, 200);
    await world.until('it has ended', () => world.tells() === 'Ended on mini (Ended)');
    assert.equal(world.hostTells('mini'), 'waits for a scrub');
    assert.deepEqual(
      [world.vm('acme/build'), world.vm('acme/helper'), world.guestsOn('mini').size],
      [undefined, undefined, 0],
    );
    const { billedUntil, endedAt = '', overrides = [] } = world.lease()?.status ?? {};
    assert.equal(billedUntil, earliestEnd);
    assert.ok(endedAt < (earliestEnd ?? ''));
    assert.deepEqual(
      overrides.map(({ what, by }) => `${what} by ${by}`),
      ['ForTenant by operator', 'ForcedRelease by operator'],
    );
    assert.deepEqual(world.fleet.errors, []);
  });

  it('ends by itself after its duration, and not a second before its minimum', async () => {
    await using world = await FleetWorld.start();
    await world.tenant('acme');
    await world.mac('mini');
    await world.asks({ duration: '24h' });
    await world.runs('acme/build');
    await world.isNow(world.lease()?.status?.endsAt, -2_000);
    assert.equal(world.tells(), 'Active on mini (Active)');
    await world.passes('2s');
    await world.until('it has ended', () => world.tells() === 'Ended on mini (Ended)');
    assert.equal(world.lease()?.status?.billedUntil, world.lease()?.status?.earliestEnd);
    assert.deepEqual(world.fleet.errors, []);
  });
});
