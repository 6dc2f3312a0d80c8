import assert from 'node:assert/strict';
import type { App } from '../../../apiserver/requests/server-request.ts';
import { MemoryStore } from '../../../apiserver/store/memory/store.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';
import { etcdForEach } from '../../harness/etcd-for-each.ts';
import { pairOn } from '../../harness/etcd-pair.ts';
import type { EtcdServer } from '../../harness/etcd-server.ts';
import { type RawAnswer, send } from '../../harness/raw.ts';
import { startTestServer } from '../../harness/server.ts';

const TENANTS = '/apis/coppice.dev/v1/tenants';
const MERGE = { 'content-type': 'application/merge-patch+json' };

async function makeTenant(app: App, name: string): Promise<void> {
  const body = { apiVersion: 'coppice.dev/v1', kind: 'Tenant', metadata: { name } };
  const { status, text } = await send(app, 'POST', TENANTS, { body });
  assert.equal(status, 201, text);
}

async function mint(app: App, tenant: string): Promise<string> {
  const { status, body, text } = await send(app, 'POST', `${TENANTS}/${tenant}/token`, { body: {} });
  assert.equal(status, 201, text);
  return (body.status as { token: string }).token;
}

/** What the holder of a token is answered who reads its tenant. */
const shows = (app: App, token: string, tenant = 'red'): Promise<RawAnswer> =>
  send(app, 'GET', `${TENANTS}/${tenant}`, { credential: { kind: 'wire', bearer: token } });

const opens = async (app: App, token: string) => (await shows(app, token)).status;

/** Deletes a tenant and lets go of it, as its duty does. */
async function removeTenant(app: App, name: string): Promise<void> {
  await send(app, 'DELETE', `${TENANTS}/${name}`);
  const body = { metadata: { finalizers: null } };
  assert.equal((await send(app, 'PATCH', `${TENANTS}/${name}`, { body, headers: MERGE })).status, 200);
}

describe('the token of a tenant', () => {
  it('is told once, and is in no store and in no answer afterwards', async () => {
    const store = await MemoryStore.open({ ids: systemIds });
    await using test = await startTestServer({ store });
    const { app } = test.server;
    await makeTenant(app, 'red');
    const answer = await send(app, 'POST', `${TENANTS}/red/token`, { body: {} });
    const { token } = answer.body.status as { token: string };
    assert.deepEqual([answer.body.kind, answer.body.metadata?.name], ['TenantToken', 'red']);
    assert.match(token, /^coppice-tenant\.red\.[0-9a-f]{64}$/);
    assert.equal(await opens(app, token), 200);
    const { entries } = await store.range({ prefix: '' });
    const secret = token.slice(token.lastIndexOf('.') + 1);
    assert.ok(entries.length > 5);
    for (const { key, value } of entries)
      assert.ok(!key.includes(secret) && !Buffer.from(value).includes(secret), `${key} has it`);
    assert.ok(!(await shows(app, token)).text.includes(secret));
    const dry = await send(app, 'POST', `${TENANTS}/red/token?dryRun=All`, { body: {} });
    assert.equal(dry.status, 400);
    assert.equal(await opens(app, token), 200);
  });

  it('is the last that was made: another one ends it', async () => {
    await using test = await startTestServer();
    const { app } = test.server;
    await makeTenant(app, 'red');
    const first = await mint(app, 'red');
    const second = await mint(app, 'red');
    assert.deepEqual([await opens(app, first), await opens(app, second)], [401, 200]);
    const forged = `${second.slice(0, -1)}${second.endsWith('0') ? '1' : '0'}`;
    assert.equal(await opens(app, forged), 401);
    await makeTenant(app, 'blue');
    assert.equal(await opens(app, second.replace('.red.', '.blue.')), 401);
    assert.equal(await opens(app, second.replace('.red.', '.nobody.')), 401);
  });

  it('outlives the server, and dies with its tenant: one of the same name is another', async () => {
    const store = await MemoryStore.open({ ids: systemIds });
    let token: string;
    {
      await using test = await startTestServer({ store });
      await makeTenant(test.server.app, 'red');
      token = await mint(test.server.app, 'red');
    }
    await using test = await startTestServer({ store });
    const { app } = test.server;
    assert.equal(await opens(app, token), 200);
    await send(app, 'DELETE', `${TENANTS}/red`);
    assert.equal(await opens(app, token), 401, 'from the moment of the deletion on');
    assert.equal((await send(app, 'POST', `${TENANTS}/red/token`, { body: {} })).status, 403);
    await removeTenant(app, 'red');
    await makeTenant(app, 'red');
    assert.equal(await opens(app, token), 401);
  });

  it('of a tenant that is gone is not kept when others are made', async () => {
    const store = await MemoryStore.open({ ids: systemIds });
    await using test = await startTestServer({ store });
    const { app } = test.server;
    for (const name of ['red', 'blue']) await makeTenant(app, name);
    const [red] = [await mint(app, 'red'), await mint(app, 'blue')];
    await removeTenant(app, 'blue');
    await makeTenant(app, 'green');
    await mint(app, 'green');
    const { entries } = await store.range({ prefix: 'tenants/tokens/' });
    assert.deepEqual(
      entries.map(({ key }) => key),
      ['tenants/tokens/green', 'tenants/tokens/red'],
    );
    assert.equal(await opens(app, red), 200);
  });

  it('is nobody’s to make but an operator’s', async () => {
    await using test = await startTestServer();
    const { app } = test.server;
    for (const name of ['red', 'blue']) await makeTenant(app, name);
    const credential = { kind: 'wire', bearer: await mint(app, 'red') } as const;
    const own = await send(app, 'POST', `${TENANTS}/red/token`, { credential, body: {} });
    const other = await send(app, 'POST', `${TENANTS}/blue/token`, { credential, body: {} });
    assert.deepEqual([own.status, other.status], [403, 404]);
    assert.equal((await send(app, 'POST', `${TENANTS}/nobody/token`, { body: {} })).status, 404);
  });

  it('is refused while the tenant is disabled, and reviewed as no token of anybody', async () => {
    await using test = await startTestServer();
    const { app } = test.server;
    await makeTenant(app, 'red');
    const token = await mint(app, 'red');
    const set = (disabled: boolean) =>
      send(app, 'PATCH', `${TENANTS}/red`, { body: { spec: { disabled } }, headers: MERGE });
    await set(true);
    const refused = await shows(app, token);
    assert.deepEqual([refused.status, refused.body.details?.causes?.[0]?.reason], [403, 'TenantDisabled']);
    const review = async () =>
      (await send(app, 'POST', '/apis/authentication.k8s.io/v1/tokenreviews', { body: { spec: { token } } })).body
        .status as { authenticated?: boolean; user?: { username?: string } };
    assert.equal((await review()).authenticated, undefined);
    await set(false);
    assert.equal((await shows(app, token)).status, 200);
    const { authenticated, user } = await review();
    assert.deepEqual([authenticated, user?.username], [true, 'system:tenant:red']);
  });

  describe('over two servers on one etcd', () => {
    let etcd: EtcdServer;
    etcdForEach((started) => {
      etcd = started;
    });

    it('is good at the other one as soon as it is told, and its forerunner soon is not', async () => {
      await using pair = await pairOn(etcd);
      await makeTenant(pair.app(0), 'red');
      let before: string | undefined;
      for (let i = 0; i < 6; i++) {
        const token = await mint(pair.app(i), 'red');
        assert.equal(await opens(pair.app(i + 1), token), 200);
        assert.equal(await opens(pair.app(i), token), 200);
        // Whoever knows the new one has heard that the one before is over.
        if (before !== undefined)
          assert.deepEqual([await opens(pair.app(i), before), await opens(pair.app(i + 1), before)], [401, 401]);
        before = token;
      }
    });
  });
});
