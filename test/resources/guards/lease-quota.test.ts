import assert from 'node:assert/strict';
import { fence } from '../../../resources/guards/guard.ts';
import { leasedHostRefusal, leaseQuota } from '../../../resources/guards/lease-quota.ts';
import { HOSTS, LEASES, POLICIES, TENANTS } from '../../../resources/guards/refs.ts';
import { World } from '../../../resources/guards/world.ts';
import type { Lease } from '../../../resources/kinds/lease.ts';
import { objectKey } from '../../../resources/meta/object.ts';
import { aPolicy } from '../../harness/a-policy.ts';
import { aHost, aTenant, EPOCH_START } from '../../harness/builders.ts';

type Status = NonNullable<Lease['status']>;

function aLease(name: string, status?: Status): Lease {
  return {
    apiVersion: 'coppice.dev/v1',
    kind: 'Lease',
    metadata: { name, namespace: 'red', uid: name, resourceVersion: '1', creationTimestamp: EPOCH_START },
    spec: { releasePolicy: 'Refuse' },
    ...(status === undefined ? {} : { status }),
  };
}

/** Tenant red may lease so many hosts; it has those named, and these Leases. */
function aWorld(maxLeasedHosts: number | undefined, leased: readonly string[], ...leases: readonly Lease[]): World {
  const world = new World();
  world.set(TENANTS, 'red', aTenant('red', maxLeasedHosts === undefined ? {} : { quota: { maxLeasedHosts } }), 1);
  for (const name of leased) world.set(HOSTS, name, aHost({ name, lessee: 'red' }), 1);
  for (const name of ['mac-8', 'mac-9']) world.set(HOSTS, name, aHost({ name }), 1);
  for (const lease of leases) world.set(LEASES, objectKey(lease.metadata), lease, 1);
  return world;
}

const made = (world: World) => leaseQuota.judge({ before: undefined, after: aLease('new') }, world)?.message;
const grant = (host: string) => ({
  before: aLease('new', { phase: 'Pending' }),
  after: aLease('new', { phase: 'Active', host }),
});
const granted = (world: World, host = 'mac-9') => leaseQuota.judge(grant(host), world)?.message;

describe('the quota of leased hosts', () => {
  it('lets no Lease be made beyond those that have or wait for a host', () => {
    const open = [aLease('a'), aLease('b', { phase: 'Active', host: 'mac-1' })];
    assert.equal(made(aWorld(3, ['mac-1'], ...open)), undefined);
    assert.equal(
      made(aWorld(2, ['mac-1'], ...open)),
      'exceeded quota: maxLeasedHosts: requested 1, used 2, limited 2 (used.leases: 2 Leases that wait for a host or have one)',
    );
  });

  it('does not count Leases that are over', () => {
    assert.equal(made(aWorld(1, [], aLease('old', { phase: 'Ended', host: 'mac-1' }))), undefined);
  });

  it('lets a Lease be made for a host that is held, and have that host, but no other', () => {
    const world = aWorld(1, ['mac-1']);
    assert.equal(made(world), undefined);
    assert.equal(granted(world, 'mac-1'), undefined);
    assert.equal(
      granted(world),
      'exceeded quota: maxLeasedHosts: requested 1, used 1, limited 1 (used.leasedHosts: 1 host that is leased or held)',
    );
    assert.equal(leasedHostRefusal('red', undefined, world)?.answer, 'Forbidden');
  });

  it('gives no host beyond it, though the Lease was there before the quota was lowered, and takes none away', () => {
    const world = aWorld(0, ['mac-1'], aLease('a', { phase: 'Active', host: 'mac-1' }));
    assert.match(granted(world) ?? '', /requested 1, used 1, limited 0/);
    const before = aLease('a', { phase: 'Active', host: 'mac-1' });
    assert.equal(
      leaseQuota.judge({ before, after: aLease('a', { phase: 'Ending', host: 'mac-1' }) }, world),
      undefined,
    );
  });

  it('is none where nothing sets it, and that of the policy where the tenant sets none', () => {
    const world = aWorld(undefined, ['mac-1', 'mac-2']);
    assert.equal(granted(world), undefined);
    world.set(POLICIES, 'default', aPolicy({ defaultQuota: { maxLeasedHosts: 2 } }), 2);
    assert.match(granted(world) ?? '', /used 2, limited 2/);
  });

  it('is agreed on by whoever makes a Lease or gives it a host', () => {
    const keys = { bump: [fence.tenant('red')], compare: [fence.policy] };
    assert.deepEqual(leaseQuota.fences({ before: undefined, after: aLease('new') }), keys);
    assert.deepEqual(leaseQuota.fences(grant('mac-9')), keys);
    const renamed = { before: aLease('a', { phase: 'Pending' }), after: aLease('a', { phase: 'Pending' }) };
    assert.deepEqual(leaseQuota.fences(renamed), { bump: [], compare: [] });
  });
});
