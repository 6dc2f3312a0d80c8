import assert from 'node:assert/strict';
import { FleetWorld } from '../harness/fleet-world.ts';
import { SetOfLeases } from '../harness/set-of-leases.ts';

/** A tenant, some Macs, and a set of leases that has them all. */
async function aSet(macs: number, replicas = macs, spec: Parameters<SetOfLeases['asks']>[0] = {}) {
  const world = await FleetWorld.start();
  await world.tenant('acme');
  for (let i = 1; i <= macs; i++) await world.mac(`mac-${i}`);
  const set = new SetOfLeases(world);
  assert.equal((await set.asks({ replicas, ...spec })).status, 201);
  return { world, set };
}

describe('a set of leases', () => {
  it('makes as many as it is asked for, and more when it is scaled up', async () => {
    const { world, set } = await aSet(3, 2, {
      template: { metadata: { labels: { team: 'ios' } }, spec: { minVCPUs: 4 } } as never,
    });
    await using _ = world;
    await set.until('2/2 (Active)');
    for (const { metadata, spec } of set.leases) {
      assert.match(metadata.name, /^builders-[a-z0-9]{5}$/);
      assert.deepEqual(metadata.labels, { team: 'ios', 'coppice.dev/lease-set': 'builders' });
      assert.deepEqual(
        metadata.ownerReferences?.map(({ kind, name, controller }) => [kind, name, controller]),
        [['LeaseSet', 'builders', true]],
      );
      assert.equal(spec.minVCPUs, 4);
    }
    const before = set.leases.map(({ metadata }) => metadata.uid);
    assert.equal((await set.scales(3)).status, 200);
    await set.until('3/3 (Active)');
    assert.deepEqual(set.leases.map(({ metadata }) => metadata.uid).filter((uid) => before.includes(uid)).length, 2);
    assert.equal((await set.scales(4)).status, 200);
    await set.until('3/4 (AlreadyLeased)');
    assert.match(set.ready?.message ?? '', /^1 of 4 leases waits for a host; builders-.....: 3 hosts: 3 leased/);
    assert.deepEqual(world.fleet.errors, []);
  });

  it('shrinks by what waits first, then by what is past its minimum and idle; the rest stays until its minimum is over', async () => {
    const { world, set } = await aSet(3, 4);
    await using _ = world;
    await world.until('three have a host, one waits', () => set.phases === '3 Active, 1 Pending');
    await world.runs('acme/build');
    const busy = world.vm('acme/build')?.spec.hostName;
    await set.scales(1);
    await set.until('3/1 +2 (Active)');
    assert.equal(set.phases, '3 Active', 'what waited is gone at once');
    const first = set.leases.map(({ status }) => status?.earliestEnd ?? '').sort()[0];
    assert.equal(set.status.nextRelease, first);
    assert.match(
      set.ready?.message ?? '',
      new RegExp(`^1 of 1 lease has a host; 2 more stay until their minimum is over, the first at ${first}$`),
    );
    await world.isNow(first, -2000);
    assert.equal(set.phases, '3 Active', 'not a second before');
    await world.isNow(first, 60_000);
    await world.until('two are over', () => set.phases === '1 Active, 2 Ended');
    assert.equal(
      set.leases.find(({ status }) => status?.phase === 'Active')?.status?.host,
      busy,
      'the busy one is kept',
    );
    await set.until('1/1 (Active)');
    assert.equal(set.status.replicas, 1, 'records do not count');
    assert.equal(set.status.nextRelease, undefined);
    assert.deepEqual(world.fleet.errors, []);
  });

  it('takes surplus ones back when it is scaled up before their minimum is over: nothing is paid twice', async () => {
    const { world, set } = await aSet(3);
    await using _ = world;
    await set.until('3/3 (Active)');
    const names = set.leases.map(({ metadata }) => metadata.name);
    await set.scales(0);
    await set.until('3/0 +3 (NoneWanted)');
    await world.passes('12h');
    await set.scales(2);
    await set.until('3/2 +1 (Active)');
    await world.passes('13h');
    await world.until('one is over', () => set.phases === '2 Active, 1 Ended');
    assert.deepEqual(
      set.leases.map(({ metadata }) => metadata.name),
      names,
    );
    assert.deepEqual(world.fleet.errors, []);
  });

  it('makes another for one that ended, and one for a lease that somebody deleted', async () => {
    const { world, set } = await aSet(4, 2);
    await using _ = world;
    await set.until('2/2 (Active)');
    const [one, two] = set.leases.map(({ metadata }) => `acme/${metadata.name}`);
    await world.patches(one ?? '', { spec: { release: { force: true } } });
    await world.until('there is another', () => set.phases === '2 Active, 1 Ended');
    await world.passes('25h');
    assert.equal((await world.deletes(two ?? '')).status, 200);
    await world.until('there is another', () => set.phases === '2 Active, 1 Ended' && world.lease(two) === undefined);
    assert.equal(set.status.made, 4);
    assert.deepEqual(world.fleet.errors, []);
  });

  it('of 40 makes two where the quota is two, and says so with the numbers', async () => {
    await using world = await FleetWorld.start();
    await world.tenant('acme', { quota: { maxLeasedHosts: 2 } });
    for (const name of ['a', 'b', 'c']) await world.mac(name);
    const set = new SetOfLeases(world);
    await set.asks({ replicas: 40 });
    await set.until('2/40 (QuotaExceeded)');
    assert.match(
      set.ready?.message ?? '',
      /^2 of 40 leases are there; one more is refused: exceeded quota: maxLeasedHosts: requested 1, used 2, limited 2/,
    );
    await world.request('PATCH', 'tenants/acme', { spec: { quota: { maxLeasedHosts: 3 } } });
    await set.until('3/40 (QuotaExceeded)');
    assert.deepEqual(world.fleet.errors, []);
  });
});
