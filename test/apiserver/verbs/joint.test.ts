import assert from 'node:assert/strict';
import { controllerIdentity, hostIdentity, type Identity } from '../../../apiserver/auth/identity.ts';
import { type ManagedFieldsEntry, valueAt } from '../../../resources/meta/object.ts';
import { aHost } from '../../harness/builders.ts';
import { createVM, makeQuota, VMS_URL } from '../../harness/quota-world.ts';
import { send } from '../../harness/raw.ts';
import { startTestServer, type TestServer } from '../../harness/server.ts';

const URL = `${VMS_URL}/vm/binding`;
const PLACEMENT = controllerIdentity('placement');
const scheduled = {
  type: 'Scheduled',
  status: 'True',
  reason: 'Bound',
  message: 'bound to host mac-1',
  lastTransitionTime: '2026-01-01T00:00:00Z',
};

describe('a subresource that writes fields of the spec and the status at once: the binding of a VM', () => {
  let test: TestServer;
  const bind = (identity: Identity, body: object) =>
    send(test.server.app, 'PATCH', URL, {
      body,
      headers: { 'content-type': 'application/merge-patch+json' },
      identity,
    });
  const stored = async () => (await send(test.server.app, 'GET', `${VMS_URL}/vm`)).body;
  beforeEach(async () => {
    test = await startTestServer();
    await makeQuota(test.server.app, 9);
    await createVM(test.server.app, 'vm');
    const { spec, status } = aHost();
    const host = { apiVersion: 'coppice.dev/v1', kind: 'Host', metadata: { name: 'mac-1' }, spec };
    const hosts = '/apis/coppice.dev/v1/hosts';
    assert.equal((await send(test.server.app, 'POST', hosts, { body: host })).status, 201);
    const told = await send(test.server.app, 'PATCH', `${hosts}/mac-1/status`, {
      body: { status },
      headers: { 'content-type': 'application/merge-patch+json' },
    });
    assert.equal(told.status, 200, told.text);
  });
  afterEach(() => test[Symbol.asyncDispose]());

  it('is one change: both are there, under one version and one generation, and owned as of it', async () => {
    const { metadata } = await stored();
    const placement = { host: 'mac-1', why: 'Fullest', fitting: 1 };
    const answer = await bind(PLACEMENT, {
      metadata: { resourceVersion: metadata?.resourceVersion },
      spec: { hostName: 'mac-1', epoch: 1 },
      status: { placement, conditions: [scheduled] },
    });
    assert.equal(answer.status, 200, answer.text);
    const after = await stored();
    assert.deepEqual(after, answer.body);
    assert.equal(valueAt(after, ['spec', 'hostName']), 'mac-1');
    assert.deepEqual(valueAt(after, ['status', 'placement']), placement);
    assert.deepEqual(valueAt(after, ['status', 'conditions']), [scheduled]);
    assert.equal(after.metadata?.generation, Number(metadata?.generation) + 1);
    const entries = valueAt(after, ['metadata', 'managedFields']) as ManagedFieldsEntry[];
    const entry = entries.find(({ subresource }) => subresource === 'binding');
    const owned = Object.keys(entry?.fieldsV1 ?? {}).sort();
    assert.deepEqual(owned, ['f:spec', 'f:status']);
  });

  it('writes its own fields alone: what else is in a body stays as it was', async () => {
    const before = await stored();
    const answer = await bind(PLACEMENT, {
      metadata: { labels: { sneaked: 'in' }, finalizers: [] },
      spec: { hostName: 'mac-1', epoch: 1, power: 'Stopped' },
    });
    assert.equal(answer.status, 200, answer.text);
    const after = await stored();
    assert.equal(after.metadata?.labels, undefined);
    assert.deepEqual(after.metadata?.finalizers, before.metadata?.finalizers);
    assert.equal(valueAt(after, ['spec', 'power']), valueAt(before, ['spec', 'power']));
    assert.deepEqual(after.status, before.status);
  });

  it('asks of each field who writes it', async () => {
    const refused = await bind(PLACEMENT, {
      spec: { hostName: 'mac-1', epoch: 1 },
      metadata: { resourceVersion: '1' },
    });
    assert.equal(refused.status, 409);
    for (const identity of [hostIdentity('mac-1'), controllerIdentity('vm-lifecycle'), controllerIdentity('drain')]) {
      assert.equal((await bind(identity, { spec: { hostName: 'mac-1' } })).status, 403, identity.user);
    }
    assert.equal(valueAt(await stored(), ['spec', 'hostName']), undefined);
  });

  it('is judged as any binding: a host that does not take the VM refuses all of it', async () => {
    const answer = await bind(PLACEMENT, { spec: { hostName: 'gone', epoch: 1 }, status: { conditions: [scheduled] } });
    assert.equal(answer.status, 422, answer.text);
    assert.equal(valueAt(await stored(), ['status', 'conditions']), undefined);
  });

  it('is patched, and nothing else', async () => {
    for (const method of ['GET', 'PUT', 'POST', 'DELETE']) {
      const answer = await send(test.server.app, method, URL, { body: await stored() });
      assert.equal(answer.status, 405, method);
    }
    const { body } = await send(test.server.app, 'GET', '/apis/coppice.dev/v1');
    const found = (valueAt(body, ['resources']) as { name: string; verbs: string[] }[]).find(
      ({ name }) => name === 'vms/binding',
    );
    assert.deepEqual(found?.verbs, ['patch']);
  });
});
