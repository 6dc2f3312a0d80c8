import assert from 'node:assert/strict';
import { ownerIdentity } from '../../apiserver/auth/identity.ts';
import { rfc3339 } from '../../resources/ambient/clock.ts';
import { Image } from '../../resources/kinds/image.ts';
import { VM } from '../../resources/kinds/vm.ts';
import { findCondition } from '../../resources/meta/condition.ts';
import { FleetWorld } from '../harness/fleet-world.ts';
import { asks, cameUp, keeps, members, pool, spec, tells } from '../harness/pool-story.ts';

const allow = (world: FleetWorld, allowSharedPoolClaims: boolean) =>
  world.request('PATCH', 'policies/default', { spec: { allowSharedPoolClaims } });

describe('a shared pool', () => {
  async function shared(): Promise<FleetWorld> {
    const world = await FleetWorld.start();
    await world.mac('rented');
    await world.mac('free');
    for (const name of ['ops', 'acme']) await world.tenant(name);
    await world.asks({ hostName: 'rented' }, 'ops/ci');
    await world.until('the lease is granted', () => world.tells('ops/ci').startsWith('Active'));
    await keeps(world, { shared: true, replicas: 2 }, 'ops/common');
    await world.until('it is warm', () => tells(world, 'ops/common') === '2 of 2, Warm');
    return world;
  }

  it('runs where nobody leases, its own tenant neither, and gives nobody a guest while the policy does not say so', async () => {
    await using world = await shared();
    assert.deepEqual(new Set(members(world, 'ops/common').map((vm) => vm.spec.hostName)), new Set(['free']));
    await asks(world, 'web');
    await world.until('it is up', () => cameUp(world, 'acme/web') === 'cold');
    assert.equal(tells(world, 'ops/common'), '2 of 2, Warm');
  });

  it('gives them out once it does, on the account of who takes one', async () => {
    await using world = await shared();
    await allow(world, true);
    await world.settles();
    await asks(world, 'web');
    await world.until('it is up', () => cameUp(world, 'acme/web') === 'pool');
    const { fromPool, hostName } = world.vm('acme/web')?.spec ?? assert.fail();
    assert.deepEqual([fromPool?.namespace, fromPool?.name, hostName], ['ops', 'common', 'free']);
    assert.equal(world.vm('acme/web')?.status?.placement?.pool, 'ops/common');
    await world.until('it refills', () => tells(world, 'ops/common') === '2 of 2, 1 claimed, Warm');
  });

  it('comes after a pool of the tenant’s own', async () => {
    await using world = await shared();
    await allow(world, true);
    await keeps(world, { replicas: 1 });
    await world.until('both are warm', () => tells(world) === '1 of 1, Warm');
    await asks(world, 'first');
    await world.until('it is up', () => cameUp(world, 'acme/first') === 'pool');
    assert.equal(world.vm('acme/first')?.spec.fromPool?.namespace, 'acme');
  });

  it('is for operators to make, and for nobody else', async () => {
    await using world = await shared();
    const mine = {
      apiVersion: 'coppice.dev/v1',
      kind: 'Pool',
      metadata: { name: 'mine' },
      spec: { ...spec, shared: true },
    };
    const answer = await world.request('POST', 'namespaces/acme/pools', mine, ownerIdentity('acme'));
    assert.deepEqual([answer.status, answer.body.details?.causes?.[0]?.reason], [403, 'OperatorOnly']);
    const own = { ...mine, spec };
    assert.equal((await world.request('POST', 'namespaces/acme/pools', own, ownerIdentity('acme'))).status, 201);
    const shares = await world.request(
      'PATCH',
      'namespaces/acme/pools/mine',
      { spec: { shared: true } },
      ownerIdentity('acme'),
    );
    assert.equal(shares.status, 403);
    const claims = { spec: { claimable: false } };
    await world.until('it is warm', () => members(world, 'acme/mine').length === 1);
    const [first] = members(world, 'acme/mine');
    const path = `namespaces/acme/vms/${first?.metadata.name}`;
    assert.equal((await world.request('PATCH', path, claims, ownerIdentity('acme'))).status, 403);
  });
});

describe('a pool of a tenant', () => {
  async function warm(quota?: object): Promise<FleetWorld> {
    const world = await FleetWorld.start();
    for (const name of ['a', 'b']) await world.mac(name);
    await world.tenant('acme', quota === undefined ? {} : { quota });
    await keeps(world);
    await world.until('it is warm', () => tells(world) === '3 of 3, Warm');
    return world;
  }

  it('is emptied while the tenant is disabled, and fills again after', async () => {
    await using world = await warm();
    await world.request('PATCH', 'tenants/acme', { spec: { disabled: true } });
    await world.until(
      'it is empty',
      () => tells(world) === '0 of 3, 0 there, TenantDisabled' && members(world).length === 0,
    );
    await world.request('PATCH', 'tenants/acme', { spec: { disabled: false } });
    await world.until('it is warm', () => tells(world) === '3 of 3, Warm');
  });

  it('goes with it, and makes nothing new on the way', async () => {
    await using world = await warm();
    await world.request('DELETE', 'tenants/acme');
    await world.until('all is gone', () => pool(world) === undefined && world.fleet.all<VM>(VM).length === 0);
    await world.until('no guest is left', () => world.guestsOn('a').size + world.guestsOn('b').size === 0);
    assert.deepEqual(world.fleet.errors, []);
  });

  it('waits for its image, and for its tenant', async () => {
    await using world = await FleetWorld.start();
    await world.mac('a');
    await world.namespace('acme');
    await keeps(world, { image: 'later' });
    await world.until('it says so', () => tells(world) === '0 of 3, 0 there, TenantNotFound');
    await world.tenant('acme');
    await world.until('it says so', () => tells(world) === '0 of 3, 0 there, ImageNotFound');
    await world.create(Image, { metadata: { name: 'later' }, spec: { guestOS: 'linux', source: { path: 'later' } } });
    await world.until('it is warm', () => tells(world) === '3 of 3, Warm');
  });

  it('has macOS only on Macs that it leases, and a claim is on the Mac with the most of them', async () => {
    await using world = await FleetWorld.start();
    for (const name of ['a', 'b', 'c']) await world.mac(name);
    await world.tenant('acme');
    await keeps(world, { image: 'macos', replicas: 3 });
    await world.until('it says why', () => tells(world) === '0 of 3, 3 warming, NoHostFits');
    for (const name of ['a', 'b']) await world.asks({ hostName: name }, `acme/${name}`);
    await world.until('it is warm', () => tells(world) === '3 of 3, Warm');
    const perHost = ['a', 'b', 'c'].map((host) => members(world).filter((vm) => vm.spec.hostName === host).length);
    const most = perHost[0] === 2 ? 'a' : 'b';
    assert.deepEqual([perHost.toSorted(), perHost[2]], [[0, 1, 2], 0]);
    await asks(world, 'build', { image: 'macos' });
    await world.until('it is up', () => cameUp(world, 'acme/build') === 'pool');
    assert.equal(world.vm('acme/build')?.status?.host, most);
  });

  it('counts the time of a VM from when it was made, not from when its guest was', async () => {
    await using world = await warm();
    await world.passes('2h');
    await asks(world, 'brief', { ttl: '1h' });
    await world.until('it is up', () => cameUp(world, 'acme/brief') === 'pool');
    assert.ok((world.vm('acme/brief')?.status?.startedAt ?? '') >= rfc3339(world.clock.now() - 60_000));
    await world.passes('50m');
    assert.notEqual(world.vm('acme/brief'), undefined);
    await world.passes('11m');
    await world.until('it is gone', () => world.vm('acme/brief') === undefined);
  });
});

describe('a pool whose members are lost', () => {
  it('makes others when a host is not heard, and lets go what is too much when it is back', async () => {
    await using world = await FleetWorld.start();
    await world.mac('a');
    await world.mac('b', { memoryGiB: 34 });
    await world.tenant('acme');
    await keeps(world, { replicas: 2 });
    await world.until('it is warm', () => tells(world) === '2 of 2, Warm');
    const home = members(world)[0]?.spec.hostName ?? '';
    const other = home === 'a' ? 'b' : 'a';
    await world.ready(home, 'Unknown');
    await world.until(
      'there are others',
      () =>
        members(world).filter((vm) => vm.spec.hostName === other && findCondition(vm, 'Ready')?.status === 'True')
          .length === 2,
    );
    await asks(world, 'quick');
    await world.until('it is up', () => cameUp(world, 'acme/quick') === 'pool');
    assert.equal(world.vm('acme/quick')?.spec.hostName, other, 'a guest of a host that is not heard was taken');
    await world.ready(home, 'True');
    await world.until('two are left', () => tells(world) === '2 of 2, 1 claimed, Warm' && members(world).length === 2);
  });

  it('goes slower when they fail again and again, says so, and is well once one comes up', async () => {
    await using world = await FleetWorld.start();
    await world.mac('a');
    await world.tenant('acme');
    await world.suffers('a', { fault: 'CrashedGuest', every: '1s' });
    await keeps(world, { replicas: 2 });
    await world.until('it says so', () => tells(world).endsWith('MembersFail'));
    const said = findCondition(pool(world) ?? assert.fail(), 'Ready')?.message ?? '';
    assert.match(
      said,
      /^0 of 2 members are up; members failed [0-9]+ times in a row, the last: the guest died.*; one at a time is made, the next not before 2026-/,
    );
    assert.ok(members(world).length <= 2);
    world.heals('a');
    await world.until('it is warm', () => tells(world) === '2 of 2, Warm');
  });

  it('replaces those on a host that is cordoned, where others may be taken', async () => {
    await using world = await FleetWorld.start();
    for (const name of ['a', 'b']) await world.mac(name);
    await world.tenant('acme');
    await keeps(world, { replicas: 2 });
    await world.until('it is warm', () => tells(world) === '2 of 2, Warm');
    const home = members(world)[0]?.spec.hostName ?? '';
    await world.request('PATCH', `hosts/${home}`, { spec: { cordoned: true } });
    await world.until(
      'they are elsewhere',
      () => tells(world) === '2 of 2, Warm' && !members(world).some((vm: VM) => vm.spec.hostName === home),
    );
  });

  it('rolls when its image is found to be another', async () => {
    await using world = await FleetWorld.start();
    await world.mac('a');
    await world.tenant('acme');
    await keeps(world, { replicas: 2 });
    await world.until('it is warm', () => tells(world) === '2 of 2, Warm');
    const before = members(world)[0]?.spec.resolved?.digest;
    await world.request('PATCH', 'images/linux', { spec: { source: { path: 'linux-next' } } });
    await world.until(
      'all are of the new one',
      () => tells(world) === '2 of 2, Warm' && members(world).every((vm) => vm.spec.resolved?.digest !== before),
    );
  });
});
