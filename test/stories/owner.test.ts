import assert from 'node:assert/strict';
import { FleetWorld } from '../harness/fleet-world.ts';
import type { RawAnswer } from '../harness/raw.ts';
import { send } from '../harness/raw.ts';

const APPLY = { 'content-type': 'application/merge-patch+json' };
const API = '/apis/coppice.dev/v1';

/** Two tenants and two Macs, and the hands of acme's owner. */
async function twoTenants() {
  const world = await FleetWorld.start();
  for (const name of ['acme', 'beta']) await world.tenant(name);
  for (const name of ['mini', 'studio']) await world.mac(name);
  const { app } = world.fleet.test.server;
  const { body } = await send(app, 'POST', `${API}/tenants/acme/token`, { body: {} });
  const bearer = (body.status as { token: string }).token;
  const owner = (method: string, path: string, sent?: object): Promise<RawAnswer> =>
    send(app, method, path.startsWith('/') ? path : `${API}/${path}`, {
      credential: { kind: 'wire', bearer },
      headers: method === 'PATCH' ? APPLY : {},
      ...(sent === undefined ? {} : { body: sent }),
    });
  return { world, owner };
}

const lease = (spec: object) => ({ apiVersion: 'coppice.dev/v1', kind: 'Lease', metadata: { name: 'ci' }, spec });

describe('the owner of a tenant', () => {
  it('leases a Mac, runs VMs on it, and is told of the Mac what it may know', async () => {
    const { world, owner } = await twoTenants();
    await using _ = world;
    const asked = await owner('POST', 'namespaces/acme/leases', lease({ minVCPUs: 4 }));
    assert.equal(asked.status, 201, asked.text);
    await world.until('it is granted', () => world.lease()?.status?.phase === 'Active');
    const { host, hostInfo, overrides } = world.lease()?.status ?? {};
    assert.equal(hostInfo?.vcpus, 8);
    assert.equal(overrides, undefined, 'an owner sets nothing aside');
    assert.equal((await owner('GET', `hosts/${host}`)).status, 403);
    const vm = { apiVersion: 'coppice.dev/v1', kind: 'VM', metadata: { name: 'build' }, spec: { image: 'macos' } };
    assert.equal(
      (await owner('POST', 'namespaces/acme/vms', { ...vm, spec: { ...vm.spec, size: 'small' } })).status,
      201,
    );
    await world.until('it runs', () => world.vm('acme/build')?.status?.phase === 'Running');
    assert.equal(world.vm('acme/build')?.spec.hostName, host);
  });

  it('does not end its lease before the minimum, and forces nothing', async () => {
    const { world, owner } = await twoTenants();
    await using _ = world;
    await owner('POST', 'namespaces/acme/leases', lease({}));
    await world.until('it is granted', () => world.lease()?.status?.phase === 'Active');
    const early = await owner('DELETE', 'namespaces/acme/leases/ci');
    assert.deepEqual([early.status, early.body.details?.causes?.[0]?.reason], [403, 'MinimumTerm']);
    const forced = await owner('PATCH', 'namespaces/acme/leases/ci', { spec: { release: { force: true } } });
    assert.deepEqual([forced.status, forced.body.details?.causes?.[0]?.reason], [403, 'OperatorsOnly']);
    assert.equal(world.tells().startsWith('Active'), true);
  });

  it('keeps the record of a lease while it is billed, writes no Events, and leases nothing outside of tenants', async () => {
    const { world, owner } = await twoTenants();
    await using _ = world;
    await owner('POST', 'namespaces/acme/leases', lease({}));
    await world.until('acme has a Mac', () => world.lease()?.status?.phase === 'Active');
    await world.patches('acme/ci', { spec: { release: { force: true } } });
    await world.until('it has ended', () => world.lease()?.status?.phase === 'Ended');
    const until = world.lease()?.status?.billedUntil ?? assert.fail();
    const kept = await owner('DELETE', 'namespaces/acme/leases/ci');
    assert.deepEqual([kept.status, kept.body.details?.causes?.[0]?.reason], [403, 'BilledUntil']);
    assert.ok(kept.body.message?.includes(until));

    const events = '/api/v1/namespaces/acme/events';
    assert.equal((await owner('GET', events)).status, 200);
    const event = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: 'e' },
      involvedObject: { kind: 'VM', namespace: 'acme', name: 'x' },
    };
    assert.equal((await owner('POST', events, event)).status, 403);
    assert.equal((await owner('DELETE', events)).status, 403);

    const outside = await world.asks({}, 'default/ci');
    assert.deepEqual([outside.status, outside.body.details?.causes?.[0]?.reason], [403, 'ReservedName']);

    await world.isNow(until);
    assert.equal((await owner('DELETE', 'namespaces/acme/leases/ci')).status, 200);
  });

  it('sees nothing of another tenant, neither what it has nor that it is there', async () => {
    const { world, owner } = await twoTenants();
    await using _ = world;
    await world.asks({}, 'beta/ci');
    await world.runs('beta/secret', { image: 'linux' });
    const lists = ['vms', 'leases', 'tenants', '/api/v1/namespaces', '/api/v1/events', '/api/v1/secrets'];
    for (const list of lists) {
      const { status, text } = await owner('GET', list);
      assert.equal(status, 200, text);
      assert.ok(!text.includes('beta'), `${list}: ${text}`);
    }
    const lease = await owner('GET', 'namespaces/beta/leases/ci');
    const none = await owner('GET', 'namespaces/nobody/leases/ci');
    assert.deepEqual([lease.status, lease.body.message], [404, none.body.message]);
    assert.equal((await owner('GET', 'tenants/beta')).status, 404);
    assert.equal((await owner('DELETE', 'namespaces/beta/vms/secret')).status, 404);
    assert.equal(world.vm('beta/secret')?.status?.phase, 'Running');
  });
});
