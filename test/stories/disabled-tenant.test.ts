import assert from 'node:assert/strict';
import { Tenant } from '../../resources/kinds/tenant.ts';
import { VM } from '../../resources/kinds/vm.ts';
import { findCondition, isTrue } from '../../resources/meta/condition.ts';
import { quiesce } from '../harness/eventually.ts';
import { Fleet } from '../harness/fleet.ts';
import { type RawAnswer, send } from '../harness/raw.ts';

const API = '/apis/coppice.dev/v1/namespaces/red';

async function aFleet(): Promise<Fleet> {
  const fleet = await Fleet.start();
  await fleet.addHost({ name: 'mac-1', ready: false });
  await fleet.heartbeat('mac-1');
  await fleet.addImage();
  await fleet.addTenant('red');
  await fleet.addTenant('blue');
  fleet.startControllers();
  return fleet;
}

const bound = (fleet: Fleet, name: string, namespace = 'red') =>
  fleet.eventually(`${name} is bound`, () => fleet.vm(name, namespace)?.spec.hostName === 'mac-1');

const setDisabled = (fleet: Fleet, disabled: boolean) =>
  fleet.resource<Tenant>(Tenant).patch('red', { spec: { disabled } });

/** A token of a program in a namespace. */
async function tokenOf(fleet: Fleet, namespace: string): Promise<string> {
  const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`;
  const { app } = fleet.test.server;
  await send(app, 'POST', accounts, { body: { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'ci' } } });
  const { body, text } = await send(app, 'POST', `${accounts}/ci/token`, { body: { spec: {} } });
  const status = body.status as { token?: string } | undefined;
  assert.ok(status?.token !== undefined, text);
  return status.token;
}

const asked = (fleet: Fleet, token: string, method: string, url: string, body?: object): Promise<RawAnswer> =>
  send(fleet.test.server.app, method, url, {
    credential: { kind: 'wire', bearer: token },
    ...(body === undefined ? {} : { body }),
  });

describe('a tenant that is disabled', () => {
  it('is turned away at the door, whatever it asks for; others are not', async () => {
    await using fleet = await aFleet();
    const [red, blue] = [await tokenOf(fleet, 'red'), await tokenOf(fleet, 'blue')];
    const maps = (namespace: string) => `/api/v1/namespaces/${namespace}/configmaps`;
    assert.equal((await asked(fleet, red, 'GET', maps('red'))).status, 200);

    await setDisabled(fleet, true);
    for (const url of [maps('red'), '/api', '/apis/coppice.dev/v1', '/openapi/v2', `${API}/vms`]) {
      const { status, body } = await asked(fleet, red, 'GET', url);
      assert.deepEqual([status, body.details?.causes?.[0]?.reason], [403, 'TenantDisabled'], url);
      assert.equal(body.message, 'tenant red is disabled: its tokens are refused');
    }
    assert.equal((await asked(fleet, blue, 'GET', maps('blue'))).status, 200);
    const review = await send(fleet.test.server.app, 'POST', '/apis/authentication.k8s.io/v1/tokenreviews', {
      body: { spec: { token: red } },
    });
    assert.equal((review.body.status as { authenticated?: boolean }).authenticated, undefined, review.text);

    await setDisabled(fleet, false);
    assert.equal((await asked(fleet, red, 'GET', maps('red'))).status, 200);
  });

  it('says so, and keeps what runs running, to the end of its ttl', async () => {
    await using fleet = await aFleet();
    await fleet.addVM('old');
    await fleet.addVM('short', { ttl: '1h' });
    await bound(fleet, 'old');
    await bound(fleet, 'short');
    await setDisabled(fleet, true);
    const tenant = () => fleet.find<Tenant>(Tenant, 'red') as Tenant;
    await fleet.eventually('said', () => findCondition(tenant(), 'Enabled')?.status === 'False');
    assert.match(findCondition(tenant(), 'Ready')?.message ?? '', /nothing new begins; what runs, runs on$/);
    await fleet.clock.advance(3_600_000);
    await fleet.eventually('it expires', () => fleet.vm('short')?.metadata.deletionTimestamp !== undefined);
    const old = fleet.vm('old');
    assert.deepEqual(
      [old?.spec.hostName, old?.spec.power, old?.metadata.deletionTimestamp],
      ['mac-1', 'Running', undefined],
    );
  });

  it('gets no host for a VM until it is enabled again, by nobody', async () => {
    await using fleet = await aFleet();
    await setDisabled(fleet, true);
    await fleet.addVM('new');
    await fleet.addVM('other', {}, 'blue');
    await bound(fleet, 'other', 'blue');
    const waits = () => findCondition(fleet.vm('new') as VM, 'Scheduled');
    await fleet.eventually('it waits', () => waits()?.reason === 'TenantDisabled');
    assert.equal(waits()?.message, 'tenant red is disabled: nothing new begins in it');
    const vms = fleet.resource<VM>(VM, 'red');
    const byHand = vms.patch('new', { spec: { hostName: 'mac-1', epoch: 1 } });
    await assert.rejects(byHand, { reason: 'Forbidden', message: /tenant red is disabled/ });
    await setDisabled(fleet, false);
    await bound(fleet, 'new');
    await fleet.eventually('said', () => isTrue(fleet.find<Tenant>(Tenant, 'red') as Tenant, 'Enabled'));
    assert.deepEqual(fleet.errors, []);
  });

  it('has nothing made in its namespace but by operators; duties still tell what happens', async () => {
    await using fleet = await aFleet();
    await fleet.stopControllers();
    await setDisabled(fleet, true);
    await quiesce();
    const { app } = fleet.test.server;
    const identity = {
      user: 'system:serviceaccount:red:ci',
      groups: ['system:serviceaccounts', 'system:authenticated'],
    };
    const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'm' } };
    const refused = await send(app, 'POST', '/api/v1/namespaces/red/configmaps', { identity, body: map });
    assert.deepEqual(
      [refused.status, refused.body.details?.causes?.[0]?.reason],
      [403, 'TenantDisabled'],
      refused.text,
    );
    const event = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: 'e' },
      involvedObject: { namespace: 'red' },
      type: 'Normal',
    };
    assert.equal((await send(app, 'POST', '/api/v1/namespaces/red/events', { identity, body: event })).status, 201);
    assert.equal((await send(app, 'POST', '/api/v1/namespaces/red/configmaps', { body: map })).status, 201);
  });
});
