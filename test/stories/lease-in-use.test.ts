import assert from 'node:assert/strict';
import { findCondition } from '../../resources/meta/condition.ts';
import { FleetWorld } from '../harness/fleet-world.ts';

describe('whether a lease is in use', () => {
  it('is told with the instant at which the last VM went, and the first came', async () => {
    await using world = await FleetWorld.start();
    await world.tenant('acme');
    await world.mac('mini');
    await world.asks();
    await world.settles();
    const told = () => {
      const { reason, lastTransitionTime } = findCondition(world.lease() as never, 'InUse') ?? {};
      return [reason, lastTransitionTime];
    };
    const { grantedAt = '' } = world.lease()?.status ?? {};
    const [reason, since = ''] = told();
    assert.equal(reason, 'NoVM');
    assert.ok(Math.abs(Date.parse(since) - Date.parse(grantedAt)) <= 1000, 'since the grant');
    await world.passes('1h');
    for (const name of ['a', 'b']) await world.runs(`acme/${name}`, { image: 'linux' });
    await world.until('it is in use', () => told()[0] === 'HasVMs');
    const begun = told();
    await world.passes('1h');
    await world.request('DELETE', 'namespaces/acme/vms/a');
    await world.until('one is gone', () => world.vm('acme/a') === undefined);
    await world.passes('1h');
    assert.deepEqual(told(), begun, 'the other is there still');
    await world.request('DELETE', 'namespaces/acme/vms/b');
    await world.until('it is idle', () => told()[0] === 'NoVM');
    const idleMs = world.clock.now() - Date.parse(told()[1] ?? '');
    assert.ok(idleMs < 600_000, `since ${idleMs} ms`);
    const revision = world.lease()?.metadata.resourceVersion;
    await world.passes('3h');
    assert.equal(world.lease()?.metadata.resourceVersion, revision, 'nothing is written while nothing changes');
    assert.deepEqual(world.fleet.errors, []);
  });
});
