import assert from 'node:assert/strict';
import type { AuditEntry } from '../../apiserver/admit-request.ts';
import { controllerIdentity } from '../../apiserver/auth/identity.ts';
import { send } from '../harness/raw.ts';
import { startTestServer, type TestServer } from '../harness/server.ts';

const TENANTS = '/apis/coppice.dev/v1/tenants';

/** What whoever takes audit entries may rely on. */
describe('the audit seam', () => {
  const entries: AuditEntry[] = [];
  let test: TestServer;

  before(async () => {
    test = await startTestServer({ audit: (entry) => entries.push(entry) });
    entries.length = 0;
  });
  after(() => test[Symbol.asyncDispose]());
  afterEach(() => {
    entries.length = 0;
  });

  const told = () => entries.map(({ user, method, path, status }) => `${user} ${method} ${path} ${status}`);

  it('gets one entry a request, whatever came of it, under the id the caller was given', async () => {
    const body = { apiVersion: 'coppice.dev/v1', kind: 'Tenant', metadata: { name: 'red' }, spec: {} };
    const made = await send(test.server.app, 'POST', TENANTS, { body });
    await send(test.server.app, 'POST', TENANTS, { body });
    await send(test.server.app, 'DELETE', `${TENANTS}/red`, { identity: controllerIdentity('placement') });
    await send(test.server.app, 'GET', TENANTS, { credential: { kind: 'wire', bearer: 'wrong' } });
    await send(test.server.app, 'GET', '/version');
    const own = (line: string) => !line.startsWith('system:controller:host-presence');
    assert.deepEqual(told().filter(own), [
      `operator POST ${TENANTS} 201`,
      `operator POST ${TENANTS} 409`,
      `system:controller:placement DELETE ${TENANTS}/red 403`,
      `system:anonymous GET ${TENANTS} 401`,
      'system:anonymous GET /version 200',
    ]);
    assert.equal(entries[0]?.id, made.headers['audit-id']);
    assert.ok(Math.abs((entries[0]?.atMs ?? 0) - Date.now()) < 60_000);
  });

  it('tells who asked and as whom', async () => {
    await send(test.server.app, 'GET', TENANTS, { headers: { 'impersonate-user': 'bob' } });
    const [entry] = entries.filter(({ path }) => path === TENANTS);
    assert.deepEqual([entry?.user, entry?.impersonated, entry?.status], ['operator', 'bob', 403]);
  });

  it('never gets a token that was minted', async () => {
    const accounts = '/api/v1/namespaces/default/serviceaccounts';
    await send(test.server.app, 'POST', accounts, { body: { metadata: { name: 'deployer' } } });
    const made = await send(test.server.app, 'POST', `${accounts}/deployer/token`, { body: {} });
    const { token } = made.body.status as { token: string };
    await send(test.server.app, 'GET', TENANTS, { credential: { kind: 'wire', bearer: token } });
    assert.ok(told().includes(`system:serviceaccount:default:deployer GET ${TENANTS} 403`));
    for (const part of token.split('.')) assert.ok(!JSON.stringify(entries).includes(part));
  });

  it('never gets a query, a body or a token', async () => {
    const secret = 'hunter2';
    const body = {
      apiVersion: 'coppice.dev/v1',
      kind: 'Tenant',
      metadata: { name: 'blue', labels: { secret } },
      spec: {},
    };
    await send(test.server.app, 'POST', `${TENANTS}?fieldManager=${secret}`, { body });
    await send(test.server.app, 'GET', TENANTS, { credential: { kind: 'wire', bearer: secret } });
    assert.ok(entries.length >= 2);
    assert.doesNotMatch(JSON.stringify(entries), new RegExp(secret));
  });
});
