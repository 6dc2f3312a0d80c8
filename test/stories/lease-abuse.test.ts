import assert from 'node:assert/strict';
import { ownerIdentity } from '../../apiserver/auth/identity.ts';
import { Lease } from '../../resources/kinds/lease.ts';
import { FleetWorld } from '../harness/fleet-world.ts';
import { putUnguarded } from '../harness/put-unguarded.ts';

const OWNER = ownerIdentity('acme');

describe('a lease that asks for what cannot be', () => {
  it('is told so at once, be it its length, its end, or the least of all', async () => {
    await using world = await FleetWorld.start({ duties: false });
    await world.tenant('acme');
    for (const duration of ['99999999h', '999999999h', '87900h']) {
      const { status, body } = await world.asks({ duration }, 'acme/long', OWNER);
      assert.equal(status, 422, duration);
      assert.equal(body.details?.causes?.[0]?.field, 'spec.duration');
    }
    assert.equal((await world.asks({ duration: '99999999999h' }, 'acme/long', OWNER)).status, 422);
    for (const at of ['9999-12-31T23:59:59.9Z', '9999-12-31T23:59:59-12:00', '2046-01-01T00:00:00Z']) {
      const { status, body } = await world.asks({ release: { at } }, 'acme/late', OWNER);
      assert.equal(status, 422, at);
      assert.equal(body.details?.causes?.[0]?.field, 'spec.release.at');
    }
    assert.equal((await world.asks({ duration: '87600h' }, 'acme/ten-years', OWNER)).status, 201);
    const policy = await world.request('PATCH', 'policies/default', {
      spec: { minLeaseHours: Number.MAX_SAFE_INTEGER },
    });
    assert.equal(policy.status, 422);
  });

  it('keeps no other waiting, even where it came past every guard', async () => {
    await using world = await FleetWorld.start();
    await world.tenant('acme');
    await world.tenant('beta');
    await world.asks({ minVCPUs: 64 });
    await world.settles();
    const waiting = world.lease();
    assert.ok(waiting !== undefined);
    const { minVCPUs: _, ...spec } = waiting.spec;
    const object = { ...waiting, spec: { ...spec, duration: '99999999h' } };
    await putUnguarded(world.fleet.test, { ref: Lease, object });
    await world.mac('mini');
    await world.mac('mini-2');
    await world.asks({}, 'beta/ci');
    await world.until('the other has its host', () => world.tells('beta/ci').startsWith('Active on '));
    assert.ok(world.fleet.errors.every((error) => error.includes('acme/ci') || error.includes('status.endsAt')));
  });
});

describe('the record of an operator', () => {
  it('outlasts whatever terms the lessee accepts', async () => {
    await using world = await FleetWorld.start();
    await world.tenant('acme');
    await world.mac('mini');
    await world.asks();
    await world.until('it has its host', () => world.tells() === 'Active on mini (Active)');
    for (let n = 0; n < 50; n++) {
      await world.passes('1s');
      const said = await world.patches('acme/ci', { spec: { acceptedTerms: { version: `v${n}` } } }, OWNER);
      assert.equal(said.status, 200, JSON.stringify(said.body));
    }
    await world.patches('acme/ci', { spec: { release: { force: true } } });
    await world.until('it is over', () => world.lease()?.status?.phase === 'Ended');
    const said = world.lease()?.status?.overrides ?? [];
    assert.deepEqual([said[0]?.what, said.at(-1)?.what, said.length], ['ForTenant', 'ForcedRelease', 40]);
    assert.ok(said.some(({ detail }) => detail === 'v49'));
  });
});

describe('an operator who writes the status of a Host', () => {
  it('cannot take a Mac from its lessee, nor free it before a scrub: what ends a lease is the Lease', async () => {
    await using world = await FleetWorld.start({ duties: false });
    world.startControllers('tenant', 'image', 'scrub', 'lease', 'placement', 'vm-lifecycle');
    await world.tenant('acme');
    await world.tenant('beta');
    await world.mac('mini');
    await world.asks();
    await world.until('it has its host', () => world.tells() === 'Active on mini (Active)');
    const taken = await world.request('PATCH', 'hosts/mini/status', { status: { lease: null } });
    const cause = ({ body }: typeof taken) => body.details?.causes?.[0]?.reason;
    assert.deepEqual([taken.status, cause(taken)], [403, 'HostLeased']);
    assert.match(taken.body.message ?? '', /coppice lease release ci -n acme --force ends that$/);

    await world.request('PATCH', 'namespaces/acme/leases/ci', { spec: { release: { force: true } } });
    await world.until('it waits for a scrub', () => world.hostTells('mini') === 'waits for a scrub');
    const clear = { type: 'ScrubPending', status: 'False', reason: 'Mine', message: '' };
    const lastTransitionTime = '2026-03-01T10:00:00Z';
    for (const status of [{ conditions: [] }, { conditions: [{ ...clear, lastTransitionTime }] }]) {
      const freed = await world.request('PATCH', 'hosts/mini/status', { status });
      assert.deepEqual([freed.status, cause(freed)], [403, 'ScrubPending']);
    }
    const finishedAt = lastTransitionTime;
    const scrub = { requestedAt: finishedAt, outcome: 'Succeeded', finishedAt };
    const claimed = await world.request('PATCH', 'hosts/mini/status', { status: { scrub, conditions: [] } });
    assert.deepEqual([claimed.status, cause(claimed)], [403, 'ScrubPending']);
    assert.equal(world.hostTells('mini'), 'waits for a scrub');

    await world.request('PATCH', 'hosts/mini', { spec: { scrub: { requestedAt: '2026-03-01T12:00:00Z' } } });
    await world.until('it is clear', () => world.hostTells('mini') === 'free');
    assert.deepEqual(world.fleet.errors, []);
  });
});
