import assert from 'node:assert/strict';
import { Event } from '../../resources/kinds/event.ts';
import { Image } from '../../resources/kinds/image.ts';
import { Pool } from '../../resources/kinds/pool.ts';
import { VM } from '../../resources/kinds/vm.ts';
import { forbidden } from '../../resources/meta/api-error.ts';
import { findCondition } from '../../resources/meta/condition.ts';
import { FleetWorld } from '../harness/fleet-world.ts';
import { asks, cameUp, keeps, members, pool, tells } from '../harness/pool-story.ts';

async function warm(wish: Partial<Pool['spec']> = {}, quota?: object): Promise<FleetWorld> {
  const world = await FleetWorld.start();
  for (const name of ['a', 'b']) await world.mac(name);
  await world.tenant('acme', quota === undefined ? {} : { quota });
  await keeps(world, wish);
  return world;
}

describe('a pool', () => {
  it('warms up, gives a launch a warm guest, and refills', async () => {
    await using world = await warm();
    await world.until('it is warm', () => tells(world) === '3 of 3, Warm');
    const before = new Map(members(world).map((vm) => [vm.spec.guestID, vm.metadata.name]));
    assert.deepEqual(
      members(world).map(({ metadata }) => [
        metadata.labels?.['coppice.dev/pool'],
        /^warm-[a-z0-9]{5}$/.test(metadata.name),
      ]),
      Array(3).fill(['warm', true]),
    );
    await asks(world, 'quick');
    await world.until('it is up', () => cameUp(world, 'acme/quick') === 'pool');
    const quick = world.vm('acme/quick');
    const took = before.get(quick?.spec.guestID) ?? assert.fail('its guest was none of the pool');
    assert.equal(world.vm(`acme/${took}`)?.spec.guestID === quick?.spec.guestID, false, 'the member is gone');
    assert.deepEqual([quick?.status?.placement?.why, quick?.status?.placement?.pool], ['Claimed', 'warm']);
    assert.deepEqual(quick?.spec.fromPool, { name: 'warm', namespace: 'acme', at: quick?.status?.startedAt });
    await world.until('it refills', () => tells(world) === '3 of 3, 1 claimed, Warm');
    assert.equal(world.guestsOn('a').size + world.guestsOn('b').size, 4);
  });

  it('of five gives exactly five of twenty that come at once, and the others start cold', async () => {
    await using world = await warm({ replicas: 5 });
    await world.until('it is warm', () => tells(world) === '5 of 5, Warm');
    // So that nothing is refilled while they come.
    await world.stopControllers();
    world.startControllers('placement', 'vm-lifecycle');
    const names = Array.from({ length: 20 }, (_, i) => `vm-${i}`);
    await Promise.all(names.map((name) => asks(world, name)));
    await world.until('all are up', () => names.every((name) => cameUp(world, `acme/${name}`) !== undefined));
    const from = names.map((name) => cameUp(world, `acme/${name}`));
    assert.deepEqual(from.toSorted(), [...Array(15).fill('cold'), ...Array(5).fill('pool')]);
    const guests = new Set(world.fleet.all<VM>(VM).map((vm) => vm.spec.guestID));
    assert.equal(guests.size, world.fleet.all<VM>(VM).length, 'two VMs name one guest');
    await world.stopControllers();
    world.startControllers();
    await world.until('it refills', () => tells(world) === '5 of 5, 5 claimed, Warm');
  });

  it('gives a guest that comes up to a VM that waits, for there is no room for another', async () => {
    await using world = await FleetWorld.start();
    await world.mac('a');
    await world.tenant('acme');
    const size = { vcpus: 1, memory: '10Gi' };
    await world.suffers('a', { fault: 'SlowOperation', operation: 'Start', takes: '20s' });
    await keeps(world, { replicas: 1, size });
    await world.until('it is on the way', () => members(world)[0]?.status?.guest?.power === 'Starting');
    await asks(world, 'quick', { size });
    await world.until('it waits', () => world.vm('acme/quick')?.status?.conditions?.[0]?.reason !== undefined);
    assert.equal(world.vm('acme/quick')?.spec.hostName, undefined);
    await world.until('it is up', () => cameUp(world, 'acme/quick') === 'pool');
    await world.until('the pool says why it is not', () => tells(world) === '0 of 1, 1 warming, 1 claimed, NoHostFits');
  });

  it('tells of claims, of what stands in its way, and of when that is over, and each once', async () => {
    await using world = await warm({ replicas: 1 });
    await world.until('it is warm', () => tells(world) === '1 of 1, Warm');
    await asks(world, 'quick');
    await world.until('it is up', () => cameUp(world, 'acme/quick') === 'pool');
    await world.until('it is warm again', () => tells(world) === '1 of 1, 1 claimed, Warm');
    const [kept] = world.fleet.all<Pool>(Pool);
    const image = kept?.spec.image;
    const patch = (spec: object) => world.request('PATCH', `namespaces/acme/pools/${kept?.metadata.name}`, { spec });
    await patch({ image: 'nope' });
    await world.until('it says so', () => tells(world).includes('ImageNotFound'));
    await patch({ image, replicas: 2 });
    await world.until('it is warm once more', () => tells(world) === '2 of 2, 1 claimed, Warm');
    const told = () => {
      const events = world.fleet.all<Event>(Event).filter(({ involvedObject }) => involvedObject.kind === 'Pool');
      return events.map(({ reason, type, count }) => `${type} ${reason} ${count}`);
    };
    const wanted = ['Normal Claimed 1', 'Warning ImageNotFound 1', 'Normal Scaled 1'];
    await world.until('all is told', () => wanted.every((one) => told().includes(one)));
  });

  it('is no reason to wait: where the server does not let a guest be taken, a VM starts its own', async () => {
    await using world = await warm({ replicas: 1 });
    await world.until('it is warm', () => tells(world) === '1 of 1, Warm');
    let refused = 0;
    world.fleet.onRequest = (identity, { body }) => {
      if (!identity.endsWith(':placement') || !new TextDecoder().decode(body).includes('guestID')) return;
      refused++;
      const cause = { reason: 'NotClaimable', message: 'no' };
      throw forbidden({ group: 'coppice.dev', plural: 'vms' }, 'quick', 'no', cause);
    };
    await asks(world, 'quick');
    await world.until('it is up', () => cameUp(world, 'acme/quick') === 'cold');
    assert.equal(refused, 1);
  });

  it('gives nothing to a VM that asks for something else', async () => {
    await using world = await warm();
    await world.until('it is warm', () => tells(world) === '3 of 3, Warm');
    await asks(world, 'larger', { size: { vcpus: 2, memory: '1Gi' } });
    await asks(world, 'reserved', { class: 'reserved' });
    await asks(world, 'stopped', { power: 'Stopped' });
    await world.until('they are up', () =>
      ['larger', 'reserved'].every((name) => cameUp(world, `acme/${name}`) === 'cold'),
    );
    await world.until('it is bound', () => world.vm('acme/stopped')?.status?.phase === 'Stopped');
    assert.equal(tells(world), '3 of 3, Warm');
  });

  it('replaces a member whose guest died', async () => {
    await using world = await warm();
    await world.until('it is warm', () => tells(world) === '3 of 3, Warm');
    const [first] = members(world);
    const vms = [`acme/${first?.metadata.name}`];
    await world.suffers(first?.spec.hostName ?? '', { fault: 'CrashedGuest', vms });
    await world.until('another is made', () => !members(world).some((vm) => vm.metadata.uid === first?.metadata.uid));
    await world.until('it is warm again', () => tells(world) === '3 of 3, Warm');
  });

  it('is shrunk to nothing, and fills again', async () => {
    await using world = await warm();
    await world.until('it is warm', () => tells(world) === '3 of 3, Warm');
    await world.request('PATCH', 'namespaces/acme/pools/warm/scale', { spec: { replicas: 0 } });
    await world.until('it is empty', () => tells(world) === '0 of 0, Empty' && members(world).length === 0);
    assert.equal(world.guestsOn('a').size + world.guestsOn('b').size, 0);
    await world.request('PATCH', 'namespaces/acme/pools/warm/scale', { spec: { replicas: 2 } });
    await world.until('it is warm', () => tells(world) === '2 of 2, Warm');
  });

  it('is deleted with its idle members, and never with a guest that was taken', async () => {
    await using world = await warm();
    await world.until('it is warm', () => tells(world) === '3 of 3, Warm');
    await asks(world, 'quick');
    await world.until('it is up', () => cameUp(world, 'acme/quick') === 'pool');
    await world.request('DELETE', 'namespaces/acme/pools/warm');
    await world.until('its members are gone', () => world.fleet.all<VM>(VM).length === 1);
    await world.passes('1h');
    assert.equal(cameUp(world, 'acme/quick'), 'pool');
    assert.equal(world.guestsOn('a').size + world.guestsOn('b').size, 1);
  });

  it('rolls when its image is another: no fewer than are wanted are up meanwhile', async () => {
    await using world = await warm({ replicas: 4 });
    await world.until('it is warm', () => tells(world) === '4 of 4, Warm');
    const old = new Set(members(world).map(({ metadata }) => metadata.uid));
    let fewest = 4;
    await world.create(Image, {
      metadata: { name: 'linux-2' },
      spec: { guestOS: 'linux', source: { path: 'linux-2' } },
    });
    await world.request('PATCH', 'namespaces/acme/pools/warm', { spec: { image: 'linux-2' } });
    await world.until('it is warm with the new', () => {
      const up = members(world).filter(
        (vm) => vm.status?.guest?.power === 'Running' && vm.metadata.deletionTimestamp === undefined,
      );
      fewest = Math.min(fewest, up.length);
      return tells(world) === '4 of 4, Warm' && !members(world).some(({ metadata }) => old.has(metadata.uid));
    });
    assert.equal(fewest, 4);
    assert.deepEqual(new Set(members(world).map((vm) => vm.spec.image)), new Set(['linux-2']));
  });

  it('keeps more while a window is open, and lets them go after it', async () => {
    const schedules = [{ name: 'office', start: '0 11 * * *', duration: '2h', timeZone: 'UTC', replicas: 4 }];
    await using world = await warm({ replicas: 1, schedules });
    await world.until('it is warm', () => tells(world) === '1 of 1, Warm');
    await world.passes('1h');
    await world.until('the window is open', () => tells(world) === '4 of 4, Warm');
    await world.passes('2h');
    await world.until('it is closed', () => tells(world) === '1 of 1, Warm' && members(world).length === 1);
  });
});

describe('a pool and a quota', () => {
  it('has no more than it has room for, and says so', async () => {
    await using world = await warm({ replicas: 5 }, { maxVMs: 3 });
    await world.until('it is as full as may be', () => tells(world) === '3 of 5, 3 there, QuotaExceeded');
    const said = findCondition(pool(world) ?? assert.fail(), 'Ready')?.message;
    assert.equal(said, '3 of 5 members are up; exceeded quota: maxVMs: requested 1, used 3, limited 3');
    await world.request('PATCH', 'tenants/acme', { spec: { quota: { maxVMs: 4 } } });
    await world.until('it has one more', () => tells(world) === '4 of 5, 4 there, QuotaExceeded');
  });

  it('gives way to VMs of its tenant that could take its members, up or not', async () => {
    await using world = await warm({ replicas: 3 }, { maxVMs: 4 });
    await world.until('it is warm', () => tells(world) === '3 of 3, Warm');
    // Nobody takes any as yet.
    await world.stopControllers();
    for (const name of ['a', 'b', 'c', 'd']) assert.equal((await asks(world, name)).status, 201);
    assert.equal((await asks(world, 'e')).status, 403);
    world.startControllers();
    await world.until('all are up', () =>
      ['a', 'b', 'c', 'd'].every((name) => cameUp(world, `acme/${name}`) !== undefined),
    );
    await world.until(
      'nothing is left for it',
      () => tells(world).startsWith('0 of 3, 0 there, ') && members(world).length === 0,
    );
    assert.match(tells(world), /QuotaExceeded$/);
  });

  it('shrinks when the quota does', async () => {
    await using world = await warm({ replicas: 4 }, { maxVMs: 6 });
    await world.until('it is warm', () => tells(world) === '4 of 4, Warm');
    await world.request('PATCH', 'tenants/acme', { spec: { quota: { maxVMs: 2 } } });
    await world.until(
      'it has two',
      () => tells(world) === '2 of 4, 2 there, QuotaExceeded' && members(world).length === 2,
    );
  });

  it('does not give way to a VM that its members are nothing for', async () => {
    await using world = await warm({ replicas: 3 }, { maxVMs: 3 });
    await world.until('it is warm', () => tells(world) === '3 of 3, Warm');
    assert.equal((await asks(world, 'larger', { size: { vcpus: 2, memory: '1Gi' } })).status, 403);
  });
});
