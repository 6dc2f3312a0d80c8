import assert from 'node:assert/strict';
import { controllerIdentity } from '../../apiserver/auth/identity.ts';
import { Host } from '../../resources/kinds/host.ts';
import { Tenant } from '../../resources/kinds/tenant.ts';
import { VM } from '../../resources/kinds/vm.ts';
import { findCondition } from '../../resources/meta/condition.ts';
import { FleetWorld } from '../harness/fleet-world.ts';

const HOUR_MS = 3_600_000;

async function aLease(spec: object = {}, at?: string): Promise<FleetWorld> {
  const world = await FleetWorld.start(at === undefined ? {} : { at });
  await world.tenant('acme');
  await world.mac('mini');
  assert.equal((await world.asks(spec)).status, 201);
  await world.until('it has its host', () => world.tells() === 'Active on mini (Active)');
  return world;
}

describe('a lease that may be deleted early', () => {
  it('goes at once; its host is held, and the next Lease that fits takes it over with its beginning and its price', async () => {
    await using world = await aLease({ releasePolicy: 'WhenAllowed' });
    await world.request('PATCH', 'pricelists/default', { spec: { macPerHour: '0.60' } });
    await world.runs('acme/build');
    const before = world.lease()?.status;
    await world.passes('5h');
    assert.equal((await world.deletes('acme/ci')).status, 200);
    assert.deepEqual([world.tells(), world.hostTells('mini')], ['gone', 'held for acme']);
    await world.passes('1h');
    assert.equal(world.vm('acme/build')?.status?.phase, 'Running');

    await world.tenant('beta');
    await world.asks({}, 'beta/ci');
    await world.settles();
    assert.equal(world.tells('beta/ci'), 'Pending (LeasedToOthers)');
    await world.asks({ minVCPUs: 64 }, 'acme/large');
    await world.settles();
    assert.equal(world.tells('acme/large'), 'Pending (InsufficientVCPUs)');

    await world.asks({ minVCPUs: 4 }, 'acme/again');
    await world.settles();
    assert.equal(world.tells('acme/again'), 'Active on mini (Active)');
    const after = world.lease('acme/again')?.status;
    assert.deepEqual(
      [after?.grantedAt, after?.earliestEnd, after?.pricePerHour],
      [before?.grantedAt, before?.earliestEnd, '0'],
    );
    assert.equal(world.hostTells('mini'), 'leased to acme');
    assert.deepEqual(world.fleet.errors, []);
  });

  it('and that nothing takes over is let go when the minimum is over, in order', async () => {
    await using world = await aLease({ releasePolicy: 'WhenAllowed' });
    await world.runs('acme/build');
    const until = world.lease()?.status?.earliestEnd;
    await world.deletes('acme/ci');
    await world.isNow(until, -2_000);
    assert.equal(world.hostTells('mini'), 'held for acme');
    const duty = controllerIdentity('lease');
    const early = await world.request('PATCH', 'hosts/mini/status', { status: { lease: null } }, duty);
    assert.equal(early.body.details?.causes?.[0]?.reason, 'MinimumTerm');
    await world.isNow(until);
    await world.until('it is let go', () => world.hostTells('mini') === 'waits for a scrub');
    assert.deepEqual([world.vm('acme/build'), world.guestsOn('mini').size], [undefined, 0]);
    const [record, ...others] = world.host('mini').status?.pastLeases ?? [];
    assert.deepEqual([record?.namespace, record?.name, record?.forced, others], ['acme', 'ci', undefined, []]);
    assert.ok(Date.parse(record?.billedUntil ?? '') >= Date.parse(until ?? ''));
    const pending = findCondition(world.host('mini'), 'ScrubPending');
    assert.ok(Date.parse(pending?.lastTransitionTime ?? '') >= Date.parse(until ?? ''));
    assert.deepEqual(world.fleet.errors, []);
  });
});

describe('a host that is held for a tenant', () => {
  it('is not for one that is made anew under its name', async () => {
    await using world = await aLease({ releasePolicy: 'WhenAllowed' });
    const { earliestEnd } = world.lease()?.status ?? {};
    const { headers } = await world.deletes('acme/ci');
    assert.deepEqual(headers.warning, [`299 - "host mini stays held for acme and is billed until ${earliestEnd}"`]);
    await world.request('PATCH', 'tenants/acme', { spec: { forceDelete: { requestedAt: '2026-03-01T10:00:00Z' } } });
    await world.request('DELETE', 'tenants/acme');
    await world.until('the tenant is gone', () => world.fleet.find<Tenant>(Tenant, 'acme') === undefined);
    await world.passes('1m');
    await world.tenant('acme');
    await world.asks();
    await world.settles();
    assert.deepEqual([world.tells(), world.hostTells('mini')], ['Pending (AlreadyLeased)', 'held for acme']);
  });
});

describe('the end of a lease', () => {
  it('by deletion after the minimum: the object stays until its VMs are gone, then goes', async () => {
    await using world = await aLease();
    await world.runs('acme/build');
    await world.isNow(world.lease()?.status?.earliestEnd);
    await world.stopNodelet('mini');
    assert.equal((await world.deletes('acme/ci')).status, 200);
    await world.settles();
    assert.deepEqual([world.tells(), world.hostTells('mini')], ['Ending on mini (Ending)', 'let go soon by acme']);
    await world.asks({}, 'acme/next');
    await world.settles();
    assert.equal(world.tells('acme/next'), 'Pending (LeaseEnding)');
    const more = { image: 'linux', size: { vcpus: 1, memory: '1Gi' } };
    await world.create(VM, { metadata: { name: 'late', namespace: 'acme' }, spec: more });
    await world.settles();
    assert.deepEqual(
      [
        world.vm('acme/late')?.spec.hostName,
        findCondition(world.vm('acme/late') ?? assert.fail(), 'Scheduled')?.reason,
      ],
      [undefined, 'LeaseEnding'],
    );
    const duty = controllerIdentity('lease');
    const hasty = await world.request(
      'PATCH',
      'namespaces/acme/leases/ci/status',
      { status: { phase: 'Ended' } },
      duty,
    );
    assert.equal(hasty.body.details?.causes?.[0]?.reason, 'GuestsRemain');
    const thrown = await world.request('PATCH', 'hosts/mini/status', { status: { lease: null } }, duty);
    assert.equal(thrown.body.details?.causes?.[0]?.reason, 'GuestsRemain');
    world.startNodelet('mini');
    await world.until('it is gone', () => world.tells() === 'gone');
    assert.equal(world.hostTells('mini'), 'waits for a scrub');
    assert.deepEqual(world.fleet.errors, []);
  });

  it('by a release that was asked for later is told beforehand, and comes then', async () => {
    await using world = await aLease();
    const granted = Date.parse(world.lease()?.status?.grantedAt ?? '');
    const at = new Date(granted + 30 * HOUR_MS).toISOString();
    const early = new Date(granted + 23 * HOUR_MS).toISOString();
    assert.equal((await world.patches('acme/ci', { spec: { release: { at: early } } })).status, 403);
    assert.equal((await world.patches('acme/ci', { spec: { release: { at } } })).status, 200);
    assert.deepEqual(
      [world.lease()?.spec.release?.by, world.lease()?.status?.endsAt],
      ['operator', `${at.slice(0, 19)}Z`],
    );
    await world.isNow(at, -2_000);
    assert.equal(world.tells(), 'Active on mini (Active)');
    await world.isNow(at);
    await world.until('it has ended', () => world.tells() === 'Ended on mini (Ended)');
    assert.equal(world.lease()?.status?.billedUntil, `${at.slice(0, 19)}Z`);
  });

  it('moves with its duration, from the same beginning, and never to before the minimum', async () => {
    await using world = await aLease({ duration: '48h' });
    const { grantedAt = '', earliestEnd } = world.lease()?.status ?? {};
    const hours = () => (Date.parse(world.lease()?.status?.endsAt ?? '') - Date.parse(grantedAt)) / HOUR_MS;
    assert.equal(hours(), 48);
    await world.passes('10h');
    await world.patches('acme/ci', { spec: { duration: '72h' } });
    assert.deepEqual([hours(), world.lease()?.status?.grantedAt], [72, grantedAt]);
    await world.patches('acme/ci', { spec: { duration: '1h' } });
    assert.deepEqual([hours(), world.lease()?.status?.earliestEnd], [24, earliestEnd]);
    await world.patches('acme/ci', { spec: { duration: null } });
    assert.equal(world.lease()?.status?.endsAt, undefined);
  });

  it('that came while the controllers were away comes when they are back, and is billed to when it was due', async () => {
    await using world = await aLease({ duration: '24h' });
    await world.runs('acme/build');
    await world.stopControllers();
    await world.passes('27h');
    assert.equal(world.tells(), 'Active on mini (Active)');
    world.startControllers();
    await world.until('it has ended', () => world.tells() === 'Ended on mini (Ended)');
    const { endsAt, billedUntil, endedAt = '', earliestEnd } = world.lease()?.status ?? {};
    assert.deepEqual([endsAt, billedUntil], [earliestEnd, earliestEnd]);
    assert.ok(Date.parse(endedAt) - Date.parse(earliestEnd ?? '') >= 3 * HOUR_MS);
    assert.equal(world.vm('acme/build'), undefined);
  });

  it('spares VMs of the tenant on other hosts', async () => {
    await using world = await aLease();
    await world.mac('shared', { labels: { site: 'attic' } });
    await world.runs('acme/here');
    await world.runs('acme/there', { image: 'linux', hostSelector: { matchLabels: { site: 'attic' } } });
    await world.patches('acme/ci', { spec: { release: { force: true } } });
    await world.until('it has ended', () => world.tells() === 'Ended on mini (Ended)');
    assert.equal(world.vm('acme/here'), undefined);
    assert.equal(world.vm('acme/there')?.status?.phase, 'Running');
  });

  it('is not got round by deleting all of them, or by a controller', async () => {
    await using world = await aLease();
    assert.equal((await world.request('DELETE', 'namespaces/acme/leases')).status, 403);
    assert.equal((await world.deletes('acme/ci', controllerIdentity('garbage'))).status, 403);
    assert.equal((await world.deletes('acme/ci', controllerIdentity('tenant'))).status, 403);
    assert.equal(world.tells(), 'Active on mini (Active)');
  });
});

describe('a Mac that dies while it is leased', () => {
  it('stays leased: nobody else gets it, its Host cannot be deleted, and its lease says why it is not Ready', async () => {
    await using world = await aLease();
    await world.stopNodelet('mini');
    await world.passes('3h');
    await world.ready('mini', 'Unknown');
    await world.settles();
    assert.equal(world.tells(), 'Active on mini (HostSilent)');
    await world.tenant('beta');
    await world.asks({}, 'beta/ci');
    await world.settles();
    assert.equal(world.tells('beta/ci'), 'Pending (LeasedToOthers)');
    const refused = await world.request('DELETE', 'hosts/mini');
    assert.deepEqual([refused.status, refused.body.details?.causes?.[0]?.reason], [403, 'HostLeased']);
    await world.ready('mini', 'True');
    await world.settles();
    assert.equal(world.tells(), 'Active on mini (Active)');
  });

  it('and is forgotten: one made anew under its name is not the leased one, and the lease ends with its minimum', async () => {
    await using world = await aLease();
    await world.stopNodelet('mini');
    await world.fleet.resource<Host>(Host).patch('mini', { spec: { forget: true } });
    assert.equal((await world.request('DELETE', 'hosts/mini')).status, 200);
    await world.settles();
    assert.equal(world.tells(), 'Active on mini (HostGone)');
    await world.mac('mini');
    await world.settles();
    assert.equal(world.tells(), 'Active on mini (HostGone)');
    assert.match(
      findCondition(world.lease() ?? assert.fail(), 'Ready')?.message ?? '',
      /made anew under that name is another one/,
    );
    await world.isNow(world.lease()?.status?.earliestEnd);
    await world.until('it has ended', () => world.tells() === 'Ended on mini (Ended)');
    assert.equal(world.hostTells('mini'), 'waits for a scrub');
  });
});
